import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { LAB_FAILURES } from "../../../src/core/failures.ts";
import type { Outcome } from "../../../src/core/outcome.ts";
import { FILE } from "../../../src/core/place.ts";
import { reasonInWords } from "../../../src/mapping/outbound/reasons.ts";
import type { Hl7Profile } from "../../../src/mapping/profile/profile.ts";
import { ANSWERS, REASON_WORDS, REPORTED_STATES } from "../../../src/mapping/profile/results-schema.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { listReasonsLacking } from "../../../src/mapping/profile/wordless.ts";
import { hl7Profile, profileOf } from "../mapped.ts";
import {
  acknowledged,
  CANCEL,
  changed,
  controlled,
  GRANTED,
  outcomeOrder,
  REFUSED,
  segmentsOf,
  UNKNOWN,
} from "../outcomes.ts";

const OPERATIONS = ["STORE", "RETRIEVAL", "REGISTER", "UPDATE", "MERGE"] as const;
const CONFIG = new URL("../../../config/", import.meta.url);

async function read(path: string): Promise<ProfileDefinition> {
  return parse(await readFile(new URL(path, CONFIG), "utf8"));
}

test("the German table has words for each reason and each word, and puts in only what there is", async () => {
  const german = await read("profiles/german-words.yaml");
  const { reasons = {} } = german.results ?? {};
  expect(Object.keys(reasons).sort()).toEqual([...LAB_FAILURES, ...REASON_WORDS].sort());
  for (const format of ["builtin/hl7-orders", "builtin/csv-orders"] as const)
    expect((await profileOf({ ...german, extends: format })).results.reasons).toEqual(reasons);
  for (const format of ["hl7", "csv"] as const) expect(listReasonsLacking({ ...german, format })).toEqual([]);
});

test("the German table says whole sentences, whatever there is to put in", async () => {
  const { reasons = {} } = (await read("profiles/german-words.yaml")).results ?? {};
  const some = fc.option(fc.constantFrom("A", "B"), { nil: undefined });
  const parts = fc.record({ unknownCode: some, columns: fc.array(fc.constant("S"), { maxLength: 3 }) });
  const expected = fc.array(fc.constant("YYYY"), { maxLength: 3 });
  fc.assert(
    fc.property(fc.constantFrom(...LAB_FAILURES), parts, expected, (code, given, choices) => {
      const problem = { ...given, code, place: FILE, message: "in English", expected: choices };
      const message = reasonInWords(problem, reasons);
      expect(message).toMatch(/^\S+(?: \S+)*$/);
      expect(message).not.toMatch(/[{}[\]]|(?:erwartet|soll|höchstens)(?: sein| Zeichen)?$/);
    }),
  );
});

test.each(["labs/german-csv/profiles/labor.yaml", "profiles/lab-b.yaml"])(
  "%s lacks no reason that a lab with tables can meet",
  async (path) => {
    expect(listReasonsLacking({ ...(await read(path)), format: "csv" })).toEqual([]);
  },
);

test("nothing that a lab with the German table is sent for people is in our words", async () => {
  const results = {
    controlAnswers: "result" as const,
    formats: { acknowledged: "oru" as const },
    send: [...ANSWERS, ...REPORTED_STATES],
  };
  const english = await hl7Profile({ results });
  const german = await hl7Profile({
    results: { ...(await read("profiles/german-words.yaml")).results, ...results },
  });
  const [located] = outcomeOrder().containers;
  const containers = [
    located ? [located] : [],
    [{ label: "STRAW-1", description: "" }],
    [{ label: "STRAW-1", description: "", location: { storedAt: "2026-11-20T13:05:00Z" } }],
  ];
  const reason = { code: "PROCEDURE_FAILED", text: "the device failed" } as const;
  const outcomes = [
    acknowledged([]),
    acknowledged([], CANCEL),
    ...[GRANTED, REFUSED, UNKNOWN, { ...GRANTED, control: "hold" } as const].map((each) =>
      controlled([each]),
    ),
    ...REPORTED_STATES.flatMap((state) =>
      OPERATIONS.flatMap((operation) =>
        containers.map((each) =>
          changed({
            state,
            operation,
            containers: each,
            sharesNumber: state === "parked",
            ...(state === "failed" && { reason }),
          }),
        ),
      ),
    ),
  ];
  const said = (outcome: Outcome, profile: Hl7Profile) =>
    (segmentsOf(outcome, profile) ?? []).flatMap((line) => {
      const fields = line.split("|");
      if (fields[0] === "NTE") return [fields[3]];
      return fields[0] === "OBX" && fields[2] === "TX" ? [fields[5]] : [];
    });
  for (const outcome of outcomes) {
    const ours = said(outcome, english);
    const theirs = said(outcome, german);
    expect(ours.length).toBeGreaterThan(0);
    expect(theirs).toHaveLength(ours.length);
    for (const [n, text] of theirs.entries()) {
      expect(text).not.toBe(ours[n]);
      expect(text).not.toMatch(/\b(?:the|order|canister|cane|since|stored|of)\b/i);
    }
  }
});

test("no sentence is taken as it is for a lab", async () => {
  const sources = new URL("../../../src/", import.meta.url);
  const taken = /asItIs\(\s*(?:"[^"]|'[^']|`(?!… \+))|as LabText/;
  const files = (await readdir(sources, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = files.map(async (name) => [name, await readFile(new URL(name, sources), "utf8")] as const);
  const found = (await Promise.all(texts)).flatMap(([name, text]) => (taken.test(text) ? [name] : []));
  expect(found).toEqual([join("core", "lab-text.ts")]);
});
