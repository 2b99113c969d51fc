import { connect } from "node:net";
import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

test("readiness says that all places of a listener are taken, and no longer when one is free", () => {
  const listen = { port: 0, maxConnections: 1 };
  const connectors = [{ name: "lims", type: "mllp", listen, results: { directory: "./hl7/out" } }];
  return withSite({ config: { connectors } }, async (site) => {
    const daemon = await site.start();
    const console = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
    const readyz = async () => {
      const response = await fetch(`${console.url}/readyz`);
      return { status: response.status, reasons: ((await response.json()) as { reasons: string[] }).reasons };
    };
    const socket = connect({ port: (daemon.connectors[0] as MllpConnector).port ?? 0, host: "127.0.0.1" });
    try {
      const full = await eventually(async () => {
        const { status, reasons } = await readyz();
        return reasons.length > 0 ? { status, reasons } : undefined;
      });
      expect(full.status).toBe(200);
      expect(full.reasons).toEqual([
        expect.stringMatching(/^connector lims: all 1 connections of its listener are taken/),
      ]);
      socket.destroy();
      await eventually(async () => (await readyz()).reasons.length === 0);
    } finally {
      socket.destroy();
      await console.close();
    }
  });
});
