import { describe, expect, it } from "vitest";
import type { WaitingCode } from "../../src/ledger/messages/waiting.ts";
import { withConsole } from "./console-fixture.ts";

const NOW = Date.parse("2026-11-21T09:00:00Z");
const WAITING: readonly WaitingCode[] = [
  { kind: "facility", code: "WEST", connector: "bench", messages: 3, since: new Date(NOW - 60_000) },
  { kind: "facility", code: "EAST", connector: "lims", messages: 1, since: new Date(NOW - 30_000) },
  { kind: "earlier", code: undefined, connector: "bench", messages: 2, since: new Date(NOW - 10_000) },
];
const clock = {
  now: () => NOW,
  monotonic: () => performance.now(),
  sleep: () => new Promise<void>(() => {}),
};

describe("messages that wait for a code", () => {
  it("are in the metrics by what they wait for, with the age of the oldest, and never by the code itself", async () => {
    await withConsole({ deps: { waiting: async () => WAITING, clock } }, async ({ url }) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      expect(text).toContain('cryobridge_messages_waiting{kind="facility"} 4');
      expect(text).toContain('cryobridge_messages_waiting{kind="operation"} 0');
      expect(text).toContain('cryobridge_messages_waiting{kind="earlier"} 2');
      expect(text).toMatch(/^cryobridge_message_waiting_oldest_age_seconds 60$/m);
      expect(text).not.toContain("WEST");
    });
  });

  it("are absent from the metrics while the ledger is out of reach", async () => {
    const waiting = () => Promise.reject(new Error("gone"));
    await withConsole({ deps: { waiting } }, async ({ url }) => {
      const text = await (await fetch(`${url}/metrics`)).text();
      expect(text).not.toMatch(/^cryobridge_messages?_waiting\S* /m);
    });
  });

  it("are in the status by code", async () => {
    await withConsole({ deps: { waiting: async () => WAITING, clock } }, async ({ url }) => {
      const { waitingMessages } = (await (await fetch(`${url}/api/status`)).json()) as {
        waitingMessages: unknown[];
      };
      expect(waitingMessages).toHaveLength(3);
      expect(waitingMessages[0]).toEqual({
        kind: "facility",
        code: "WEST",
        connector: "bench",
        messages: 3,
        since: "2026-11-21T08:59:00.000Z",
        hint: null,
      });
      expect(waitingMessages[2]).toMatchObject({ kind: "earlier", code: null });
    });
  });
});
