import NodeHl7Client, { Batch, FileBatch, Message } from "node-hl7-client";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import {
  type PythonBatch,
  type PythonHl7,
  type PythonSegment,
  withPythonHl7,
} from "../support/python-hl7/python-hl7.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** Orders of one lab: the control ids are `MSG-` and the number. A birth date without a day makes one wrong. */
const order = (number: string, isWrong = false) => {
  const lastName = "Žluťoučký \\T\\ Söhne";
  const text = omlO33({ number, lastName }).replace(/^((?:[^|]*\|){14})[^|]*\|[^|]*/, "$1|");
  return isWrong ? text.replace(/\|19\d{6}/, "|1985") : text;
};
const FILE = {
  fileControlId: "FILE-1",
  batches: [
    { controlId: "BATCH-1", messages: [order("A-1"), order("A-2", true), order("A-3")] },
    { controlId: "BATCH-2", messages: [order("B-1", true)] },
  ],
} as const;

/** A batch response, as whoever reads it sees it. */
interface SeenBatch {
  /** BHS-12, or FHS-12 of a file. */
  readonly refersTo: string;
  /** BTS-1, or FTS-1. */
  readonly count: string;
  /** MSA-1 and MSA-2 of each answer. */
  readonly answers: readonly string[];
}
interface SeenResponse {
  readonly file?: Omit<SeenBatch, "answers">;
  readonly batches: readonly SeenBatch[];
  /** FHS-11 and BHS-11 of the response's own headers. */
  readonly controlIds: readonly string[];
}

const firstOf = (segment: PythonSegment | null | undefined, field: number) =>
  segment?.fields[field - 1]?.[0]?.[0]?.[0] ?? "";

async function seenByPython(text: string, python: PythonHl7): Promise<SeenResponse> {
  const read = await python.read(text);
  if (read.kind === "message") throw new Error("python-hl7 takes it for a message");
  const ends = ({ header, trailer }: Pick<PythonBatch, "header" | "trailer">) => ({
    refersTo: firstOf(header, 12),
    count: firstOf(trailer, 1),
  });
  const batches = read.kind === "file" ? read.batches : [read];
  return {
    ...(read.kind === "file" ? { file: ends(read) } : {}),
    batches: batches.map((batch) => ({
      ...ends(batch),
      answers: batch.messages.map((message) => {
        const msa = message.find(({ name }) => name === "MSA");
        return `${firstOf(msa, 1)} ${firstOf(msa, 2)}`;
      }),
    })),
    controlIds: [...(read.kind === "file" ? [read] : []), ...batches].map(({ header }) =>
      firstOf(header, 11),
    ),
  };
}

/** Its readers want no line end behind the last segment, and give the segments one after the other. */
function seenByNodeHl7Client(text: string): SeenResponse {
  const isFile = text.startsWith("FHS");
  const read = isFile ? new FileBatch({ text: text.trimEnd() }) : new Batch({ text: text.trimEnd() });
  const batches: { refersTo: string; count: string; answers: string[] }[] = [];
  const controlIds: string[] = [];
  for (const segment of read) {
    const value = (field: number) => segment.get(`${segment.name}.${field}`).toString();
    if (segment.name === "FHS" || segment.name === "BHS") controlIds.push(value(11));
    if (segment.name === "BHS") batches.push({ refersTo: value(12), count: "", answers: [] });
    const batch = batches.at(-1);
    if (segment.name === "MSA") batch?.answers.push(`${value(1)} ${value(2)}`);
    if (segment.name === "BTS" && batch) batch.count = value(1);
  }
  expect(read.messages()).toHaveLength(batches.reduce((sum, { answers }) => sum + answers.length, 0));
  if (!isFile) return { batches, controlIds };
  const file = { refersTo: read.get("FHS.12").toString(), count: read.get("FTS.1").toString() };
  return { file, batches, controlIds };
}

/** What both read, which must be the same; every header has a control id of its own. */
async function seenByBoth(text: string, python: PythonHl7): Promise<Omit<SeenResponse, "controlIds">> {
  const { controlIds, ...seen } = await seenByPython(text, python);
  expect(seenByNodeHl7Client(text)).toEqual({ controlIds, ...seen });
  expect(new Set(controlIds.filter((id) => id !== "")).size).toBe(controlIds.length);
  return seen;
}

const profiles = (batchResponse: "all" | "errors" | "none") => ({
  site: { extends: "builtin/hl7-orders", results: { batchResponse } },
});

function withFolderSite(
  response: "all" | "errors",
  run: (site: Site, python: PythonHl7) => Promise<void>,
): Promise<void> {
  const times = { stableFor: "50ms", scanInterval: "500ms" };
  const connector = { name: "hl7", type: "hl7-drop", directory: "hl7", profile: "site", ...times };
  return withPythonHl7((python) =>
    withSite({ config: { profiles: profiles(response), connectors: [connector] } }, async (site) => {
      await site.start();
      await run(site, python);
    }),
  );
}

/** Drops a file, and waits for the response to its batches. */
async function dropped(site: Site, name: string, text: string): Promise<string> {
  await site.drop("hl7", name, text);
  return eventually(async () => {
    const results = await site.results("hl7").catch(() => new Map<string, string>());
    return [...results].find(([file]) => file.startsWith(`${name}_CH`))?.[1];
  });
}

/** An answer is given once a message is safe, which may be before its order is made. */
async function expectOrders(site: Site, ...numbers: string[]): Promise<void> {
  await eventually(async () => (await site.orders()).length >= numbers.length);
  const found = (await site.orders()).map(({ placerOrderNumber }) => placerOrderNumber);
  expect(found.sort()).toEqual(numbers);
}

/** Messages as node-hl7-client holds them. */
const clientMessages = (...numbers: string[]) =>
  numbers.map((number) => new Message({ text: order(number).trimEnd() }));

function clientBatch(controlId: string, ...numbers: string[]): Batch {
  const batch = new Batch();
  batch.start();
  batch.set("BHS.11", controlId);
  for (const message of clientMessages(...numbers)) batch.add(message);
  batch.end();
  return batch;
}

function clientFile(...parts: readonly (Batch | Message)[]): FileBatch {
  const file = new FileBatch();
  file.start();
  file.set("FHS.11", "FILE-1");
  for (const part of parts) file.add(part);
  file.end();
  return file;
}

describe.runIf(machineHas("mllp_send"))("a file of batches that python-hl7 wrote", () => {
  test("is taken, and answered by a file that others count and match like us", () =>
    withFolderSite("all", async (site, python) => {
      const text = await dropped(site, "day.hl7", await python.compose(FILE));
      expect(await seenByBoth(text, python)).toEqual({
        file: { refersTo: "FILE-1", count: "2" },
        batches: [
          { refersTo: "BATCH-1", count: "3", answers: ["AA MSG-A-1", "AE MSG-A-2", "AA MSG-A-3"] },
          { refersTo: "BATCH-2", count: "1", answers: ["AE MSG-B-1"] },
        ],
      });
      await expectOrders(site, "A-1", "A-3");
    }));

  test("is answered by the errors alone where the profile wants that, and nothing reads as nothing", () =>
    withFolderSite("errors", async (site, python) => {
      const mixed = await dropped(site, "mixed.hl7", await python.compose(FILE));
      expect(await seenByBoth(mixed, python)).toEqual({
        file: { refersTo: "FILE-1", count: "2" },
        batches: [
          { refersTo: "BATCH-1", count: "1", answers: ["AE MSG-A-2"] },
          { refersTo: "BATCH-2", count: "1", answers: ["AE MSG-B-1"] },
        ],
      });
      const batches = [{ controlId: "BATCH-3", messages: [order("C-1"), order("C-2")] }];
      const good = await dropped(site, "good.hl7", await python.compose({ batches }));
      expect(await seenByBoth(good, python)).toEqual({
        batches: [{ refersTo: "BATCH-3", count: "0", answers: [] }],
      });
    }));

  test("is taken without counts in its trailers too, and with a batch that holds nothing", () =>
    withFolderSite("all", async (site, python) => {
      const batches = [...FILE.batches, { controlId: "BATCH-3", messages: [] }];
      const composed = await python.compose({ ...FILE, batches, isCounted: false });
      expect(composed).toContain("\rBTS\r");
      const { file, batches: seen } = await seenByBoth(await dropped(site, "day.hl7", composed), python);
      expect([file?.count, seen.map(({ count }) => count)]).toEqual(["3", ["3", "1", "0"]]);
    }));
});

describe.runIf(machineHas("mllp_send"))("a file that node-hl7-client wrote", () => {
  test.each([
    ["a batch alone", () => clientBatch("BATCH-1", "A-1", "A-2").toString(), ["BATCH-1"]],
    [
      "a file of batches",
      () => clientFile(clientBatch("BATCH-1", "A-1"), clientBatch("BATCH-2", "A-2")).toString(),
      ["BATCH-1", "BATCH-2"],
    ],
    [
      "a file of messages, each of which it counts",
      () => clientFile(...clientMessages("A-1", "A-2")).toString(),
      [""],
    ],
  ])("is taken and answered: %s", (_, compose, references) =>
    withFolderSite("all", async (site, python) => {
      const text = await dropped(site, "day.hl7", compose());
      const { batches } = await seenByBoth(text, python);
      expect(batches.flatMap(({ answers }) => answers)).toEqual(["AA MSG-A-1", "AA MSG-A-2"]);
      expect(batches.map(({ refersTo }) => refersTo)).toEqual(references);
      await expectOrders(site, "A-1", "A-2");
    }),
  );
});

function withMllpSite(
  response: "all" | "errors" | "none",
  run: (port: number, site: Site) => Promise<void>,
): Promise<void> {
  const connector = {
    name: "hl7",
    type: "mllp",
    listen: { port: 0 },
    results: { directory: "results" },
    profile: "site",
  };
  return withSite({ config: { profiles: profiles(response), connectors: [connector] } }, async (site) => {
    const daemon = await site.start();
    await run((daemon.connectors[0] as MllpConnector).port ?? 0, site);
  });
}

/** Sends one thing as node-hl7-client does, and waits for so many acknowledgements. */
async function sendByNodeHl7Client(port: number, sent: Batch | FileBatch, count: number): Promise<string[]> {
  const client = new NodeHl7Client({ host: "127.0.0.1", version: "2.5.1" });
  const heard: string[] = [];
  const connection = client.createConnection({ port, version: "2.5.1" }, (answer) => {
    const value = (path: string) => answer.getMessage().get(path).toString();
    heard.push(`${value("MSA.1")} ${value("MSA.2")}`);
  });
  try {
    await connection.sendMessage(sent);
    await eventually(() => heard.length >= count);
    return heard;
  } finally {
    await connection.close();
  }
}

describe.runIf(machineHas("mllp_send"))("a batch in an MLLP frame", () => {
  test("of python-hl7 is answered by one frame, which it reads as a file of batches", () =>
    withPythonHl7((python) =>
      withMllpSite("all", async (port, site) => {
        const [text = ""] = await python.exchange(port, await python.compose(FILE), 1);
        expect(await seenByBoth(text, python)).toEqual({
          file: { refersTo: "FILE-1", count: "2" },
          batches: [
            { refersTo: "BATCH-1", count: "3", answers: ["AA MSG-A-1", "AE MSG-A-2", "AA MSG-A-3"] },
            { refersTo: "BATCH-2", count: "1", answers: ["AE MSG-B-1"] },
          ],
        });
        await expectOrders(site, "A-1", "A-3");
      }),
    ));

  test("of python-hl7 is answered by the errors alone where the profile wants that", () =>
    withPythonHl7((python) =>
      withMllpSite("errors", async (port) => {
        const [batch] = FILE.batches;
        const [text = ""] = await python.exchange(port, await python.compose({ batches: [batch] }), 1);
        expect(await seenByBoth(text, python)).toEqual({
          batches: [{ refersTo: "BATCH-1", count: "1", answers: ["AE MSG-A-2"] }],
        });
      }),
    ));

  test("of node-hl7-client is answered by one frame, in which it finds each acknowledgement", () =>
    withMllpSite("all", async (port, site) => {
      const heard = await sendByNodeHl7Client(port, clientBatch("BATCH-1", "A-1", "A-2"), 2);
      expect(heard).toEqual(["AA MSG-A-1", "AA MSG-A-2"]);
      await expectOrders(site, "A-1", "A-2");
    }));

  test("with a file header, which node-hl7-client sends and can't read, is answered to it message by message where the profile says none", () =>
    withMllpSite("none", async (port, site) => {
      const heard = await sendByNodeHl7Client(port, clientFile(...clientMessages("A-1", "A-2")), 2);
      expect(heard).toEqual(["AA MSG-A-1", "AA MSG-A-2"]);
      await expectOrders(site, "A-1", "A-2");
    }));
});
