import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";
import { expectLinear } from "./growth.ts";
import type { InputForm } from "./mutate.ts";
import { Random } from "./random.ts";
import { CsvReader } from "./readers/csv-reader.ts";
import { Hl7Reader } from "./readers/hl7-reader.ts";
import { Fault, type Target } from "./target.ts";
import * as csv from "./targets/csv.ts";
import * as hl7 from "./targets/hl7.ts";
import * as mllp from "./targets/mllp.ts";
import * as profile from "./targets/profile.ts";
import * as service from "./targets/service.ts";
import * as written from "./targets/written.ts";

const run = promisify(execFile);

/** As many as take half a second or so. `npm run fuzz` runs more, and lets what they reach choose the next ones. */
const SHORT = [
  ["HL7 messages", hl7, 500],
  ["streams of MLLP", mllp, 1_500],
  ["CSV files", csv, 120],
  ["profiles", profile, 200],
  ["answers of the service", service, 600],
  ["what was written and is read back", written, 150],
] as const;

test.each(SHORT)(
  "whatever becomes of %s: failures of the catalogue, whole values, the same again",
  async (_, { makeTarget }, inputs) => {
    const { findings } = await fuzz(await makeTarget(), { inputs, seed: 1 });
    expect(
      findings.map(({ words, input }) => `${words}: ${JSON.stringify(input.toString("latin1"))}`),
    ).toEqual([]);
  },
);

const FORM: InputForm = { delimiters: ["|"], tokens: ["ab"], brackets: [] };
const targetOf = (act: (input: Buffer) => string): Target => ({
  ...{ name: "t", form: FORM, seeds: [Buffer.from("a|b|c")], run: act },
});

describe("the fuzzer", () => {
  test("finds an input that shows a fault, and leaves out what the fault shows without", async () => {
    const target = targetOf((input) => {
      if (input.includes("ab")) throw new Fault("a and b");
      return "";
    });
    expect((await fuzz(target, { inputs: 2_000, seed: 1 })).findings).toEqual([
      { words: "a and b", input: Buffer.from("ab"), after: expect.any(Number) },
    ]);
  });

  test("finds what gives another thing the second time", async () => {
    let count = 0;
    const target = targetOf(() => {
      count += 1;
      return String(count);
    });
    const { findings } = await fuzz(target, { inputs: 500, seed: 1 });
    expect(findings.map(({ words }) => words)).toEqual(["the same input twice gives two things"]);
  });

  test("feeds the same inputs for the same seed", async () => {
    const fed = async (seed: number) => {
      const inputs: string[] = [];
      const target = targetOf((input) => {
        inputs.push(input.toString("latin1"));
        return "";
      });
      await fuzz(target, { inputs: 200, seed });
      return inputs;
    };
    expect(await fed(3)).toEqual(await fed(3));
    expect(await fed(3)).not.toEqual(await fed(4));
  });

  test("finds work that grows with the square of the input, and none that grows with it", async () => {
    let sum = 0;
    const linear = targetOf((input) => {
      for (let n = 0; n < 200; n += 1) for (const byte of input) sum += byte;
      return String(sum);
    });
    const square = targetOf((input) => {
      for (const one of input) for (const other of input) sum += one ^ other;
      return String(sum);
    });
    const grow = (target: Target) => expectLinear(target, Buffer.from("a|b|c"), new Random(1));
    await expect(grow(linear)).resolves.toBeUndefined();
    await expect(grow(square)).rejects.toThrow("many times");
    const base = Buffer.from("|".repeat(1_000));
    const ofWhatIsAdded = targetOf((input) => {
      for (let n = 0; n < 1_500 * (input.length - base.length); n += 1) sum += n;
      return String(sum);
    });
    await expect(expectLinear(ofWhatIsAdded, base, new Random(1))).resolves.toBeUndefined();
  });

  test("says as a command which places of the sources were reached", async () => {
    const words = [
      "--disable-warning=ExperimentalWarning",
      join(import.meta.dirname, "main.ts"),
      "--target",
      "mllp",
    ];
    const { stdout } = await run(process.execPath, [...words, "--inputs", "200", "--seed", "1"]);
    expect(stdout).toMatch(/^mllp seed 1: 200 inputs, .* [1-9]\d+ of \d+ places reached; 0 faults\n$/);
  });
});

describe("a reader that shares nothing with the product's", () => {
  test("finds whole values of HL7 by their places", () => {
    const reader = new Hl7Reader("MSH|^~\\&|L\rPID|1||A^B&C~D\\S\\E\rSAC|||1\rSAC|||2\\.br\\");
    const places = [
      "MSH-3",
      "PID-3",
      "PID-3[1].2",
      "PID-3[1].2.2",
      "PID-3[2].1",
      "SAC-3",
      "SAC[2]-3",
      "SAC[3]-3",
    ];
    expect(places.map((place) => reader.valueAt(place))).toEqual([
      "L",
      "A",
      "B",
      "C",
      "D^E",
      "1",
      undefined,
      "",
    ]);
    expect(() => reader.valueAt("somewhere")).toThrow(Fault);
  });

  test("finds whole cells of CSV by line and heading", () => {
    const file = Buffer.from('\ufeffa;b\r\n"1;2";"x ""y""\r\nz"\r\n\r\n3;4');
    const reader = new CsvReader(file, { delimiter: ";", encoding: "utf-8" });
    expect([
      reader.headerLine("b"),
      reader.valueAt(2, "a", 1),
      reader.valueAt(2, "b", 1),
      reader.valueAt(5, "b", 1),
    ]).toEqual([1, "1;2", 'x "y"\r\nz', "4"]);
  });
});
