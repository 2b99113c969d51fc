import { createWriteStream } from "node:fs";
import { mkdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { DropFolder } from "../../../src/connectors/drop-folder/drop-folder.ts";
import type { IncomingMessage, Intake } from "../../../src/core/intake.ts";
import type { CsvReading } from "../../../src/formats/csv/dialect.ts";
import { eventually } from "../../support/eventually.ts";
import { at } from "../../support/places.ts";
import { type DropWorld, type OwnDeps, QUICK, withDropWorld } from "../drop-world.ts";
import { JournalIntake } from "../journal-intake.ts";
import { readingBy } from "./reading.ts";

const HEADER = "order_number,operation,container_label\n";

function csv(world: DropWorld, reading: Partial<CsvReading> = {}, deps: OwnDeps = {}) {
  const required = [["order_number"], ["operation"]];
  return new DropFolder(
    () =>
      csvFileFormat({
        maxBytes: 64_000_000,
        reading: readingBy("order_number", { requiredColumns: required, ...reading }),
      }),
    { name: "bench", directories: world.directories, ...QUICK },
    world.deps(deps),
  );
}

/** Keeps what was stopped in its tracks from being collected with its files open. */
const frozen: Promise<never>[] = [];

function stopForEver(): Promise<never> {
  const never = new Promise<never>(() => {});
  frozen.push(never);
  return never;
}

async function problemsOf(world: DropWorld, name: string) {
  const report = JSON.parse(await world.read("error", `${name}.error.json`));
  return report.problems as { code: string; place: string; message: string; hint: string }[];
}

const CANCEL_LIST: Partial<CsvReading> = {
  requiredColumns: [["operation"], ["facility"], ["subject_code"], ["order_number"], ["container_label"]],
  controlListLacks: { all: [["facility"], ["container_label"]], any: [["subject_code"]] },
};

test("a file that was begun and can't be read later is refused, and what is left of it is taken when it comes again", () =>
  withDropWorld(async (world) => {
    let lacked: string | undefined;
    const accept = world.intake.accept.bind(world.intake);
    world.intake.accept = (...batch) => {
      if (lacked !== undefined) return accept(...batch);
      // The file was begun; then the profile is changed.
      lacked = "facility";
      return Promise.reject(new Error("cut off"));
    };
    const formatOf = () => {
      const required = [["order_number"], ["operation"], ...(lacked ? [[lacked]] : [])];
      return csvFileFormat({
        maxBytes: 64_000_000,
        reading: readingBy("order_number", { requiredColumns: required }),
      });
    };
    await world.start(
      new DropFolder(formatOf, { name: "bench", directories: world.directories, ...QUICK }, world.deps()),
    );
    const bytes = HEADER + Array.from({ length: 700 }, (_, i) => `${i},STORE,L-${i}\n`).join("");
    await world.drop("a.csv", bytes);
    await world.settled();
    expect(await problemsOf(world, "a.csv")).toMatchObject([{ code: "CSV_COLUMN_MISSING" }]);
    lacked = "";
    await world.drop("a.csv", bytes);
    await world.settled();
    expect(world.intake.duplicates).toEqual([]);
    const [begun, again] = world.intake.summary();
    expect([begun?.status, begun?.messages.length]).toEqual(["refused", 500]);
    expect([again?.status, again?.messages.length]).toEqual(["taken", 700]);
  }));

describe("a CSV file that only cancels", () => {
  test.each(["order_number,operation", "order_number,operation,subject_code"])(
    "needs no more columns than %s",
    (header) =>
      withDropWorld(async (world) => {
        await world.start(csv(world, CANCEL_LIST));
        await world.drop("c.csv", `${header}\n1,CANCEL${",S".repeat(header.split(",").length - 2)}\n`);
        await world.settled();
        expect(world.intake.summary()[0]).toMatchObject({
          status: "taken",
          messages: [{ place: at("line 2") }],
        });
      }),
  );

  test.each([
    ["order_number,operation,subject_code,container_label", '"facility"'],
    ["operation", '"order_number"'],
  ])("is distinguished from a file of orders that lacks a column: %s", (header, missing) =>
    withDropWorld(async (world) => {
      await world.start(csv(world, CANCEL_LIST));
      await world.drop("c.csv", `${header}\n1\n`);
      await world.settled();
      const [problem] = await problemsOf(world, "c.csv");
      expect(problem).toMatchObject({
        code: "CSV_COLUMN_MISSING",
        message: expect.stringContaining(missing),
      });
    }),
  );
});

describe("the same CSV file again", () => {
  const dropTwice = (content: string, check: (world: DropWorld) => Promise<void>) =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("a.csv", content);
      await world.settled();
      await world.drop("b.csv", content);
      await world.settled();
      await check(world);
    });

  test("is taken once when it holds orders only", () =>
    dropTwice(`${HEADER}1,STORE,L1\n`, async (world) => {
      expect(world.intake.summary()).toHaveLength(1);
      expect(await world.list("error")).toEqual(["b.csv.duplicate.json", "b.csv.duplicate.txt"]);
    }));

  test("is taken again when it wants something of an earlier order, which may have changed since", () =>
    dropTwice(`${HEADER}1,CANCEL,\n`, async (world) => {
      expect(world.intake.summary()).toMatchObject([
        { status: "taken", messages: [{ place: at("line 2") }] },
        { status: "taken", messages: [{ place: at("line 2") }] },
      ]);
      expect(await world.list("error")).toEqual([]);
    }));

  test("is the same drop after a crash, whatever it wants", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      await world.drop("c.csv", `${HEADER}1,CANCEL,\n`);
      const stopped = Promise.withResolvers<void>();
      const steps = (step: string) => {
        if (step !== "accepted") return;
        stopped.resolve();
        return stopForEver();
      };
      await csv(world, {}, { steps }).start();
      await stopped.promise;
      const intake = new JournalIntake(world.journalPath);
      await world.start(csv(world, {}, { intake }));
      await world.settled();
      expect(intake.summary()).toMatchObject([{ status: "taken", messages: [{ ordinal: 1 }] }]);
    }));
});

describe("a CSV file", () => {
  test("becomes one message an order, and is archived", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n1,STORE,L2\n2,RETRIEVAL,L3\n`);
      await world.settled();
      const [file] = world.intake.summary();
      expect(file?.status).toBe("taken");
      expect(file?.messages.map(({ place, verdict, rows }) => [place, verdict, rows?.length])).toEqual([
        ["lines 2-3", "accepted", 2],
        ["line 4", "accepted", 1],
      ]);
      expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["o.csv"]);
    }));

  test("that is damaged is refused whole, and a person drops it again once it is fixed", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n2,STORE\n3,STORE,L3\n`);
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "refused", messages: [] }]);
      expect(await world.list("error")).toEqual(["o.csv", "o.csv.error.json", "o.csv.error.txt"]);
      expect(await problemsOf(world, "o.csv")).toMatchObject([
        { code: "CSV_ROW_RAGGED", place: at("line 3") },
      ]);
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n2,STORE,L2\n3,STORE,L3\n`);
      await world.settled();
      expect(world.intake.summary()[1]?.messages.map((message) => message.verdict)).toEqual([
        "accepted",
        "accepted",
        "accepted",
      ]);
    }));

  test("goes on past rows that are whole and wrong, which are reported with their lines", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n2,REFUSE,L2\n3,STORE,L3\n`);
      await world.settled();
      expect(world.intake.summary()[0]?.messages.map((message) => message.verdict)).toEqual([
        "accepted",
        "refused",
        "accepted",
      ]);
      expect(await world.list("error")).toEqual(["o.csv.error.json", "o.csv.error.txt"]);
      expect(await problemsOf(world, "o.csv")).toHaveLength(1);
    }));

  test("is refused whole for one mistake when the profile says so, and nothing of it is taken", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { wholeFile: true }));
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n2,REFUSE,L2\n`);
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "refused", messages: [] }]);
      expect(await world.list("error")).toContain("o.csv");
      const codes = (await problemsOf(world, "o.csv")).map((problem) => problem.code);
      expect(codes).toEqual(["FILE_WHOLE_REFUSED", "HL7_STRUCTURE"]);
    }));

  test("is reported with nothing as accepted or waiting when it is refused whole", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { wholeFile: true }));
      await world.drop("o.csv", `${HEADER}1,STORE,L1\n2,REFUSE,L2\n3,WAIT,L3\n`);
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "refused", messages: [] }]);
      const report = JSON.parse(await world.read("error", "o.csv.error.json"));
      expect(report.counts).toEqual({ accepted: 0, duplicate: 0, refused: 3, ignored: 0, waiting: 0 });
      expect(report.waiting).toEqual([]);
      expect(report.problems).toMatchObject([
        { place: at("file"), message: expect.stringContaining("2 of 3 messages have mistakes") },
        { code: "HL7_STRUCTURE", place: at("line 3") },
        { code: "MAPPING_OPERATION_UNKNOWN", place: at("line 4"), hint: expect.any(String) },
      ]);
      expect(await world.read("error", "o.csv.error.txt")).not.toContain("These wait");
    }));

  test("without a needed column is refused whole, and a near name is pointed out", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", "Order Number,operation\n1,STORE\n");
      await world.settled();
      const [problem, ...others] = await problemsOf(world, "o.csv");
      expect(others).toEqual([]);
      expect(problem).toMatchObject({ code: "CSV_COLUMN_MISSING", place: at("header") });
      expect(problem?.message).toContain('"Order Number" is nearly the same');
      expect(world.intake.summary()[0]?.messages).toEqual([]);
    }));

  test("with a column twice is refused whole", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", "order_number,operation,operation\n1,STORE,STORE\n");
      await world.settled();
      expect(await problemsOf(world, "o.csv")).toMatchObject([{ code: "CSV_HEADER_DOUBLED" }]);
    }));

  test("in Windows-1252 with semicolons is found out and kept as UTF-8", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      const text = "order_number;operation;container_label\r\n1;STORE;Röhrchen\r\n";
      await world.drop("o.csv", Buffer.from(text, "latin1"));
      await world.settled();
      const [message] = world.intake.summary()[0]?.messages ?? [];
      expect(message?.raw).toBe(text);
      expect(message?.rows).toEqual([{ order_number: "1", operation: "STORE", container_label: "Röhrchen" }]);
    }));

  test("without a header gets the names that the profile lists", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { header: ["order_number", "operation"] }));
      await world.drop("o.csv", "1,STORE\n1,STORE\n");
      await world.drop("wide.csv", "1,STORE,more\n");
      await world.settled();
      expect(world.intake.summary()[0]?.messages[0]?.rows).toEqual([
        { order_number: "1", operation: "STORE" },
        { order_number: "1", operation: "STORE" },
      ]);
      expect((await problemsOf(world, "wide.csv"))[0]?.message).toContain("expected 2 columns, found 3");
    }));

  test("with a header and nothing else is archived without a word", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world));
      await world.drop("o.csv", HEADER);
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "taken", messages: [] }]);
      expect(await world.list("error")).toEqual([]);
    }));

  test("that a crash cut off between two batches goes on where it was", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      const rows = Array.from({ length: 1_700 }, (_, i) => `${i},${i % 7 ? "STORE" : "REFUSE"},L${i}\n`);
      await world.drop("o.csv", HEADER + rows.join(""));
      let batches = 0;
      const stopped = Promise.withResolvers<void>();
      const steps = (step: string) => {
        if (step !== "accepted" || ++batches < 2) return;
        stopped.resolve();
        return stopForEver();
      };
      await csv(world, {}, { steps }).start();
      await stopped.promise;
      const intake = new JournalIntake(world.journalPath);
      expect(intake.summary()[0]?.messages).toHaveLength(1_000);
      await world.start(csv(world, {}, { intake }));
      await world.settled();
      const [file] = intake.summary();
      expect(file?.messages.map((message) => message.ordinal)).toEqual(rows.map((_, i) => i + 1));
      expect(await problemsOf(world, "o.csv")).toHaveLength(243);
    }));
});

test("a CSV file of more rows than are taken at once is refused, and how to split it is said", async () => {
  const format = csvFileFormat({
    maxBytes: 64_000_000,
    reading: readingBy("order_number"),
    limits: { maxRows: 2 },
  });
  const problemsOf = async (rows: string) => (await format.examine(Buffer.from(HEADER + rows))).problems;
  expect(await problemsOf("1,STORE,L1\n2,STORE,L2\n\n")).toEqual([]);
  expect(await problemsOf("1,STORE,L1\n2,STORE,L2\n3,STORE,L3\n")).toMatchObject([
    {
      code: "FILE_TOO_LARGE",
      place: at("line 4"),
      hint: expect.stringContaining("all rows of an order stand in one part"),
    },
  ]);
});

test("a large CSV file takes no more memory than some times its size", () =>
  withDropWorld(async (world) => {
    await mkdir(world.directories.in, { recursive: true });
    const path = join(world.directories.in, ".large");
    const out = createWriteStream(path);
    out.write("order_number,operation,container_label,note\n");
    const note = "n".repeat(200);
    for (let i = 0; i < 60_000; i++) {
      if (!out.write(`PO-${i},STORE,L-${i},${note}\n`))
        await new Promise<void>((resolve) => out.once("drain", () => resolve()));
    }
    out.end();
    await finished(out);
    const { size } = await stat(path);
    let accepted = 0;
    let isClosed = false;
    let mostBytes = 0;
    setFlagsFromString("--expose-gc");
    const collectGarbage: () => void = runInNewContext("gc");
    const usedBytes = () => {
      // Only what is still held counts, whenever V8 would have collected the rest.
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = usedBytes();
    let batches = 0;
    const accept = (messages: readonly Pick<IncomingMessage, "ordinal" | "place">[]) => {
      accepted += messages.length;
      if (batches++ % 20 === 0) mostBytes = Math.max(mostBytes, usedBytes() - before);
      const taken = { verdict: "accepted", problems: [], orders: [] } as const;
      return messages.map(({ ordinal, place }) => ({ ordinal, place, ...taken }));
    };
    const intake: Intake = {
      openFile: async (_file, _claimId, messages) => ({
        ...{ status: "new", fileId: "1" },
        verdicts: accept(messages),
      }),
      accept: async (_source, messages) => accept(messages),
      inspect: () => [],
      settleFile: async () => {
        isClosed = true;
        const fate = { folder: "archive", day: "2026-03-27", keptAs: "large.csv" } as const;
        return { fate, mayMove: () => true };
      },
      answerBatch: () => undefined,
    };
    await rename(path, join(world.directories.in, "large.csv"));
    await world.start(csv(world, {}, { intake }));
    await eventually(() => isClosed);
    expect(accepted).toBe(60_000);
    expect(mostBytes).toBeLessThan(4 * size);
  }));

describe("a CSV file in UTF-8 where another encoding is set", () => {
  const ROWS = [
    ["in all of its rows", Buffer.from("1,STORE,Müller\n2,STORE,José\n"), "line 2"],
    [
      "in one row among others",
      Buffer.concat([Buffer.from("1,STORE,Jürgen\n", "latin1"), Buffer.from("2,STORE,MÜLLER\n")]),
      "line 3",
    ],
  ] as const;

  test.each(ROWS)("is refused with the line: %s", (_, rows, place) =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { encoding: "windows-1252" }));
      await world.drop("u.csv", Buffer.concat([Buffer.from(HEADER), rows]));
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "refused" }]);
      const [problem] = await problemsOf(world, "u.csv");
      expect(problem).toMatchObject({ code: "CSV_ENCODING_UTF8", place });
      expect(problem?.message).toContain("windows-1252 was agreed for this interface");
      expect(problem?.hint).toContain("{ name: windows-1252, forced: true }");
    }),
  );

  test("is refused as UTF-8 also where the set encoding does not have its bytes", () =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { encoding: "iso-8859-15" }));
      await world.drop("u.csv", `${HEADER}1,STORE,MÜLLER\n`);
      await world.settled();
      const [problem] = await problemsOf(world, "u.csv");
      expect(problem).toMatchObject({ code: "CSV_ENCODING_UTF8", place: at("line 2") });
    }));

  test.each(ROWS)("is taken where that is forced: %s", (_, rows) =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { encoding: "windows-1252", isEncodingForced: true }));
      await world.drop("u.csv", Buffer.concat([Buffer.from(HEADER), rows]));
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "taken" }]);
    }),
  );

  test.each([
    ["ASCII", Buffer.from("1,STORE,L\n")],
    ["Windows-1252", Buffer.from("1,STORE,Jürgen\n", "latin1")],
  ])("but not one in %s", (_, rows) =>
    withDropWorld(async (world) => {
      await world.start(csv(world, { encoding: "windows-1252" }));
      await world.drop("w.csv", Buffer.concat([Buffer.from(HEADER), rows]));
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ status: "taken" }]);
    }),
  );
});
