import { describe, expect, test } from "vitest";
import { asFailure, type Problem, problemOf } from "../../../src/core/failures.ts";
import type { Outcome } from "../../../src/core/outcome.ts";
import { phi } from "../../../src/core/phi.ts";
import { atNamed, type Place, placeText } from "../../../src/core/place.ts";
import { headerProblem } from "../../../src/formats/csv/headings.ts";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { labPlace, reasonInWords } from "../../../src/mapping/outbound/reasons.ts";
import { profileSchema } from "../../../src/mapping/profile/schema.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, problemsOf } from "../mapped.ts";
import {
  acknowledged,
  changed,
  composeHl7,
  createReplier,
  ORIGINAL,
  outcomeOrder,
  refused,
  waiting,
} from "../outcomes.ts";

const reasons = { SUBJECT_MISMATCH: "andere Person", MAPPING_CODE_UNKNOWN: "unbekannter Schlüssel" };
const PARKED = { state: "parked", reason: { code: "SUBJECT_MISMATCH", text: "another name" } } as const;
const PROBLEMS = [{ code: "MAPPING_CODE_UNKNOWN", place: at("PV1-3.4"), message: 'holds "WEST"' }] as const;

/** Composes with the lab's words, and gives the lines of a segment. */
async function linesOf(outcome: Parameters<typeof composeHl7>[0], name: string) {
  const text = composeHl7(outcome, await hl7Profile({ results: { reasons } }))?.bytes.toString() ?? "";
  return text.split("\r").filter((line) => line.startsWith(name));
}

test("a result has its reason in the lab's words in ORC-16 and NTE, beside the code", async () => {
  expect((await linesOf(changed(PARKED), "NTE"))[0]).toBe("NTE|1|L|andere Person");
  expect((await linesOf(changed(PARKED), "ORC"))[0]).toContain("|SUBJECT_MISMATCH^andere Person^");
});

test("a refusal has its reasons in the lab's words in MSA and ERR", async () => {
  const [err] = await linesOf(refused(PROBLEMS), "ERR");
  expect(err).toContain("unbekannter Schlüssel");
  expect(err).not.toContain("holds");
});

test("the lab's words may have the column put in, and what was expected there", async () => {
  const words = {
    CSV_COLUMN_MISSING: "brak kolumny {column}",
    MAPPING_DATE_INVALID: "kolumna {column}: oczekiwano {expected}",
    or: "lub",
  };
  const problems = [
    {
      code: "CSV_COLUMN_MISSING",
      place: at("header"),
      message: 'expected a column named "A" or "B"; none is',
      columns: ["A", "B"],
    },
    {
      code: "MAPPING_DATE_INVALID",
      place: at("line 3, column Data"),
      message: "expected a day that exists, written as dd.MM.yyyy or d.M.yyyy",
      expected: ["dd.MM.yyyy", "d.M.yyyy"],
    },
  ] as const;
  expect(problems.map((each) => reasonInWords(each, words))).toEqual([
    'brak kolumny "A" lub "B"',
    "kolumna Data: oczekiwano dd.MM.yyyy lub d.M.yyyy",
  ]);
  expect(
    await problemsOf({
      extends: "builtin/csv-orders",
      results: { reasons: { ORDER_DISCARDED: "{column}" } },
    }),
  ).toEqual(["results.reasons.ORDER_DISCARDED: {column} stands for nothing here"]);
});

test("words in brackets are left out where there is nothing to put in", () => {
  const problems = [
    { code: "MAPPING_DATE_INVALID", place: at("PID-7"), message: "lies in the future" },
  ] as const;
  const one = { MAPPING_DATE_INVALID: "kein Datum[, erwartet {expected}] [SOP 7]" };
  expect(reasonInWords(problems[0], one)).toBe("kein Datum [SOP 7]");
  const two = { MAPPING_DATE_INVALID: "kein Datum[ ({column}, erwartet {expected})]" };
  const known = { ...problems[0], place: at("line 3, column Data"), expected: ["YYYY"] };
  const said = (problem: Problem) => reasonInWords(problem, two);
  expect([said(known), said(problems[0])]).toEqual(["kein Datum (Data, erwartet YYYY)", "kein Datum"]);
});

test("what stands for mistakes that are not listed is no reason of its own in the lab's words", async () => {
  const more = { ...PROBLEMS[0], message: "107 more mistakes are not listed", unlisted: 107 } as const;
  const problems = [...PROBLEMS, more];
  const said = (words: Readonly<Record<string, string>> | undefined) =>
    problems.map((problem) => reasonInWords(problem, words));
  expect(said(reasons).slice(-2)).toEqual([expect.stringContaining("Schlüssel"), "… +107"]);
  expect(said(undefined).at(-1)).toBe("107 more mistakes are not listed");
});

test("what was expected of a file's bytes and headings can stand in the lab's words", () => {
  const raw = Buffer.from("MSH|^~\\&|A\rPID|\xff", "latin1");
  const find = () => {
    try {
      return decodeHl7(raw);
    } catch (error) {
      return problemOf(asFailure(error), {});
    }
  };
  const wide = { place: {}, ...headerProblem(["a", "b", "c"], 2) };
  for (const [found, expected] of [
    [find(), "utf-8"],
    [wide, "2"],
  ] as const) {
    const problems = [found as Problem];
    const words = { [problems[0]?.code ?? ""]: "höchstens {expected}" };
    expect(problems.map((problem) => reasonInWords(problem, words))).toEqual([`höchstens ${expected}`]);
  }
});

test("an answer whose words have something to put in that there is not is in English", async () => {
  const problems = [
    { code: "MAPPING_DATE_INVALID", place: at("PID-7"), message: "lies in the future" },
  ] as const;
  const profile = await hl7Profile({ results: { reasons: { MAPPING_DATE_INVALID: "erwartet {expected}" } } });
  expect(composeHl7(refused(problems), profile)?.bytes.toString()).toContain("lies in the future");
});

test("so has an answer over a connection", async () => {
  const profile = await hl7Profile({ results: { reasons } });
  const message = { messageId: "m1", connector: "lims", receivedAt: new Date(0), text: phi(ORIGINAL) };
  const replier = createReplier(message, profile, { form: "plain", applicationAck: "connection" });
  const about = { outcomeId: "1", controlId: "CB1", occurredAt: new Date(0), message };
  const [reply] = replier.compose({ ...about, kind: "refused", problems: PROBLEMS }, "CL1");
  expect(reply?.toString()).toContain("unbekannter Schlüssel");
});

test("an answer with a reason that the table lacks is in English as a whole", async () => {
  const other = { code: "MAPPING_DATE_INVALID", place: at("PID-7"), message: "has only a year" } as const;
  const lines = (await linesOf(refused([...PROBLEMS, other]), "ERR")).join();
  expect(lines).toContain('holds "WEST"');
  expect(lines).toContain("has only a year");
  expect(lines).not.toContain("Schlüssel");
  const control = await hl7Profile({ results: { reasons: { ...reasons, order: "Auftrag" } } });
  const refusal = { code: "CANCEL_TOO_LATE", text: "it is done" } as const;
  const answers = [{ control: "cancel", placerOrderNumber: "LAB-1", refusal } as const];
  const { message, outcomeId, controlId, occurredAt } = acknowledged();
  const outcome = { message, outcomeId, controlId, occurredAt, kind: "control", answers } as const;
  expect(composeHl7(outcome, control)?.bytes.toString()).toContain("NTE|1|L|order LAB-1: it is done");
});

test("what only calls of the service are about is said in words that a lab knows", async () => {
  const text = "POST /api/procedure-requests: status 422 (VALIDATION)";
  const parked = { state: "parked", reason: { code: "SERVICE_REFUSED", text } } as const;
  expect((await linesOf(changed(parked), "NTE"))[0]).toBe(
    "NTE|1|L|the storage service refused the order; nothing was done",
  );
});

test("a reason in the words of the site's own module stays as it is", async () => {
  const rejected = {
    state: "rejected",
    reason: { code: "MAPPING_MODULE_REFUSED", text: "no room" },
  } as const;
  expect((await linesOf(changed(rejected), "NTE"))[0]).toBe("NTE|1|L|no room");
});

test("a file of results has the ending that the profile names", async () => {
  const profile = await hl7Profile({ results: { suffix: ".txt" } });
  const outcome = changed(outcomeOrder());
  expect(composeHl7(outcome, profile)?.fileName).toBe("LAB-1_CB0000000005.txt");
  expect(composeHl7(outcome, await hl7Profile())?.fileName).toBe("LAB-1_CB0000000005.hl7");
});

describe("what stands before a reason", () => {
  const words = {
    message: "Nachricht",
    line: "Zeile",
    lines: "Zeilen",
    column: "Spalte",
    part: "Teil",
    and: "und",
    or: "oder",
    header: "Kopfzeile",
  };
  test.each<[string, Place, string]>([
    [
      "message 2, PID-3.1 and PID-4.1",
      at("message 2, PID-3.1 and PID-4.1"),
      "Nachricht 2, PID-3.1 und PID-4.1",
    ],
    ["message 1, OBX[2]-5.1, part 2", at("message 1, OBX[2]-5.1, part 2"), "Nachricht 1, OBX[2]-5.1, Teil 2"],
    ["line 3, column Proben, part 2", at("line 3, column Proben, part 2"), "Zeile 3, Spalte Proben, Teil 2"],
    [
      "lines 3 and 9, column line and part",
      { lines: { at: [3, 9], by: "and" }, spots: [{ column: "line and part" }] },
      "Zeilen 3 und 9, Spalte line and part",
    ],
    [
      "line 4, column a, column b",
      { spots: [{ line: 4, column: "a, column b" }] },
      "Zeile 4, Spalte a, column b",
    ],
    [
      "line 4, column this or column that",
      { spots: [{ line: 4, column: "this or column that" }] },
      "Zeile 4, Spalte this or column that",
    ],
    [
      "line 4, column A or column B, part 2",
      at("line 4, column A or column B, part 2"),
      "Zeile 4, Spalte A oder Spalte B, Teil 2",
    ],
    [
      "line 4, column A and line 4, column B",
      at("line 4, column A and line 4, column B"),
      "Zeile 4, Spalte A und Zeile 4, Spalte B",
    ],
    ["lines 3-5", at("lines 3-5"), "Zeilen 3-5"],
    ["header", at("header"), "Kopfzeile"],
    ["module ./line.ts", atNamed("module ./line.ts"), "module ./line.ts"],
  ])("is in the lab's words but for the name of a column: %s", (shipped, place, wanted) => {
    expect(placeText(place)).toBe(shipped);
    expect(labPlace(place, words)).toBe(wanted);
  });

  const inWords = async (outcome: Outcome, name: string) => {
    const own = {
      ...words,
      ...{ onHold: "Zurückgestellt", repeated: "Schon da.", order: "Auftrag" },
      MAPPING_FACILITY_UNKNOWN: 'unbekannter Standort "{code}"',
      CANCEL_TOO_LATE: "schon erledigt",
    };
    const profile = await hl7Profile({ results: { reasons: own } });
    const text = composeHl7(outcome, profile)?.bytes.toString() ?? "";
    return text.split("\r").filter((line) => line.startsWith(name));
  };
  const problems = [
    {
      code: "MAPPING_FACILITY_UNKNOWN",
      place: at("message 1, order A-1, PV1-3.4"),
      message: "holds",
      unknownCode: "WEST",
    },
  ] as const;

  test("is in those words in an answer, and ERR-2 still names the field", async () => {
    const [nte] = await inWords(waiting(problems), "NTE");
    expect(nte).toBe(
      'NTE|1|L|Zurückgestellt: Nachricht 1, Auftrag A-1, PV1-3.4: unbekannter Standort "WEST"',
    );
    const [err] = await inWords(waiting(problems), "ERR");
    expect(err?.split("|")[2]).toBe("PV1^1^3^1^4");
    expect(await inWords(acknowledged([], ORIGINAL, true), "NTE")).toEqual(["NTE|1|L|Schon da."]);
  });

  test("names the order of a request in those words", async () => {
    const refusal = { code: "CANCEL_TOO_LATE", text: "it is done" } as const;
    const answers = [{ control: "cancel", placerOrderNumber: "LAB-1", refusal } as const];
    const { message, outcomeId, controlId, occurredAt } = acknowledged();
    const control = { message, outcomeId, controlId, occurredAt, kind: "control", answers } as const;
    expect(await inWords(control, "NTE")).toEqual(["NTE|1|L|Auftrag LAB-1: schon erledigt"]);
  });
});

describe("results.reasons", () => {
  test.each(["Datum[, erwartet {expected}", "Datum, erwartet {expected}]", "Datum[, [erwartet] {expected}]"])(
    "takes no clause without its two brackets, or within another: %s",
    async (words) => {
      const definition = {
        extends: "builtin/csv-orders",
        results: { reasons: { MAPPING_DATE_INVALID: words } },
      };
      expect(await problemsOf(definition)).toEqual([
        "results.reasons.MAPPING_DATE_INVALID: expected each [ with its ] after it, and none within another pair",
      ]);
    },
  );

  test("puts in the unknown code alone, and nothing in English", async () => {
    const problems = await problemsOf({
      extends: "builtin/hl7-orders",
      results: {
        reasons: { SUBJECT_MISMATCH: "autre patient ({text})", MAPPING_FACILITY_UNKNOWN: "inconnu : {code}" },
      },
    });
    expect(problems).toEqual([
      "results.reasons.SUBJECT_MISMATCH: {text} stands for nothing here",
      "results.reasons.onHold: is missing, which stands before MAPPING_FACILITY_UNKNOWN in the answer to a message that waits",
    ]);
  });

  test("knows no code that stays on this side", () => {
    const keys = [
      "CONFIG_INVALID",
      "LEDGER_IN_USE",
      "MLLP_UNREACHABLE",
      "FILE_NAME_TAKEN",
      "SUBJECT_MISMATCH",
      "FILE_UNREADABLE",
    ];
    const refused = keys.filter(
      (key) => !profileSchema.safeParse({ results: { reasons: { [key]: "x" } } }).success,
    );
    expect(refused).toEqual(keys.slice(0, -2));
  });
});

test("files of results have the names that the site wants, with the control id, and a refused order its number", async () => {
  const fileName = "{number}-{status}-{time:yyyyMMdd}_{controlId}.txt";
  const profile = await hl7Profile({ results: { fileName } });
  expect(composeHl7(changed(), profile)?.fileName).toBe("LAB-1-completed-20261120_CB0000000005.txt");
  const bad = { code: "MAPPING_DATE_INVALID", place: at("message 1, PID-7"), message: "is no date" } as const;
  expect(composeHl7(refused([bad]), profile)?.fileName).toBe("LAB-1-refused-20261120_CB0000000005.txt");
  const taken = { code: "ORDER_NUMBER_REUSED", place: at("message 1"), message: "is taken" } as const;
  expect(composeHl7(refused([taken]), profile)?.fileName).toBe("MSG-1-refused-20261120_CB0000000005.txt");
});

test.each([
  ["{number}.hl7", "expected {controlId} once"],
  ["{number}_{controlId}", "expected an ending such as .hl7"],
  ["{stem}_{controlId}.hl7", "{stem} stands for nothing"],
])("the name %s for HL7 results is refused", async (fileName, words) => {
  expect((await problemsOf({ extends: "builtin/hl7-orders", results: { fileName } })).join()).toContain(
    words,
  );
});
