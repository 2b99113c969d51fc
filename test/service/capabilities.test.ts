import { describe, expect, it } from "vitest";
import { FakeClock } from "./fake-clock.ts";
import type { Row } from "./stub-service.ts";
import { logSink, never, withStub } from "./with-client.ts";

const LIST = "/api/procedures";

const procedures = (count: number): Row[] =>
  Array.from({ length: count }, (_, index) => ({ id: index + 1, facilityId: 12, status: "CREATED" }));

type Stub = Parameters<Parameters<typeof withStub>[0]>[0];

/** Reads the list of procedures before and after each change of the service; gives the client's last word and the log. */
async function readThrough(rows: number, changes: readonly Stub["options"][]) {
  const { logger, text } = logSink();
  const seen: (string | undefined)[] = [];
  await withStub(
    async (stub, client) => {
      stub.rows.procedures = procedures(rows);
      for (const change of changes) {
        stub.options = change;
        const question = { list: "procedures", surface: "request", filters: {} } as const;
        for await (const _ of client.readList(question, never));
        seen.push(client.lastChange?.text);
      }
    },
    {},
    { logger },
  );
  return { seen, warnings: text().split("another shape").length - 1 };
}

describe("the running client", () => {
  it("notices another wrapping of lists and logs it once", async () => {
    const wrapped = { envelope: (rows: Row[]) => ({ data: rows }) };
    const { seen, warnings } = await readThrough(3, [{}, wrapped, wrapped]);
    const text = `${LIST} comes as a list under "data"; before: array`;
    expect(seen).toEqual([undefined, text, text]);
    expect(warnings).toBe(1);
  });

  it("notices a page cap that shrinks or is lifted, but not its first discovery", async () => {
    const { seen } = await readThrough(150, [{ cap: 50 }, { cap: 20 }, { cap: 100 }]);
    expect(seen).toEqual([
      undefined,
      `pages of ${LIST} hold at most 20; before: 50`,
      `pages of ${LIST} hold at most 100; before: 20`,
    ]);
  });

  it("notices a change also where what it knew was forgotten meanwhile", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.rows["procedure-requests"] = procedures(5);
        await client.readRequests(12, [1, 2, 3, 4, 5], never);
        await clock.advance(3_600_000);
        stub.options = { honours: (name) => !name.startsWith("id_") };
        await client.readRequests(12, [1, 2, 3], never);
        expect(client.lastChange?.text).toBe(
          "the filter id of /api/procedure-requests is ignored; before: honoured",
        );
      },
      { maxRequestsPerSecond: 1e6 },
      { clock },
    );
  });
});
