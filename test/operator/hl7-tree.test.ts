import { expect, test } from "vitest";
import { openDictionary } from "../../src/formats/hl7/dictionary.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { OF_CONTAINER, OF_ORDER } from "../../src/mapping/outbound/codes.ts";
import { RESULT_COLUMNS } from "../../src/mapping/profile/results-schema.ts";
import { describeSegment, filledByAny, hideHl7, shownValue } from "../../src/operator/hl7-tree.ts";
import { SHOWN_COLUMNS, SHOWN_OBSERVATIONS } from "../../src/operator/shown.ts";
import { HIDDEN } from "../../src/operator/text.ts";

const VALUE = "PAT-4711";

/** Which of these fields, such as `QRD-8`, are shown to somebody who didn't ask for patients' data. */
function shown(...places: readonly string[]): string[] {
  return places.filter((place) => {
    const [segment = "", field, component] = place.split(/[-.]/);
    const at = { field: Number(field), component: component === undefined ? undefined : Number(component) };
    const value = shownValue(segment, at, VALUE, false);
    expect([VALUE, HIDDEN]).toContain(value);
    return value === VALUE;
  });
}

test("who a query asks about is hidden, and when and how it asks is shown", () => {
  expect(shown("QRD-1", "QRD-4", "QRD-8", "QRD-11", "QRF-5", "QPD-3", "ZQU-1")).toEqual(["QRD-1", "QRD-4"]);
});

test("comments and instructions are hidden wherever they stand, since people write anything there", () => {
  expect(shown("NTE-3", "TQ1-11", "BHS-10", "BTS-2", "FHS-10", "FTS-2")).toEqual([]);
});

test("who ordered, entered and verified is hidden, and what the order is called is shown", () => {
  expect(shown("ORC-2", "ORC-3", "ORC-10", "ORC-12", "EVN-2", "EVN-5")).toEqual(["ORC-2", "ORC-3", "EVN-2"]);
});

test("what describes a specimen is hidden as the container's description is, and what identifies it is shown", () => {
  const described = [
    "OBR-4.2",
    "OBR-13",
    "OBR-15",
    "SPM-4",
    "SPM-4.2",
    "SPM-14",
    "SPM-15",
    "SAC-9",
    "OBX-3.2",
    "OBX-5",
  ];
  expect(shown(...described)).toEqual([]);
  const identified = [
    "OBR-2",
    "OBR-3",
    "OBR-4.1",
    "OBR-4.3",
    "SPM-2",
    "SAC-3",
    "SAC-4",
    "OBX-3.1",
    "PV1-3.4",
  ];
  expect(shown(...identified)).toEqual(identified);
});

test("texts beside codes are hidden, also those of an acknowledgement", () => {
  expect(shown("ORC-16.2", "MSA-3", "ERR-3.2", "ERR-8", "TQ1-9.2", "ORC-16.1", "ERR-3.1")).toEqual([
    "ORC-16.1",
    "ERR-3.1",
  ]);
});

test("of an answer by a profile that nobody knows that alone is shown which no profile fills", () => {
  const answer =
    "BHS|^~\\&|A\rMSH|^~\\&|A|||||||7\rMSA|AE|1|words\rERR|||102^data|E||||words\rORC|UA|P-1\rNTE|1||words\r";
  expect(hideHl7(answer, false, filledByAny)).toEqual([
    "BHS|^~\\&|A",
    `MSH|^~\\&|${HIDDEN}|||||||7`,
    "MSA|AE|1|words",
    "ERR|||102^data|E||||words",
    `ORC|${HIDDEN}|${HIDDEN}`,
    `NTE|${HIDDEN}||${HIDDEN}`,
  ]);
});

test("of an answer by a known profile our observations are shown, but for what the profile fills and a patient's number", () => {
  const answer =
    "OBX|1|TX|CRYO-STATUS^Order status^L||Stored: 1 container||||||F|||20261120\rOBX|2|ST|CRYO-PRIOR-ID^Prior^L||PAT-1\rOBX|3|TX|LAB^x^L||PAT-2\rNTE|1||words\r";
  const own = `OBX|1|TX|CRYO-STATUS^Order status^L||Stored: 1 container||||||F|||20261120`;
  const others = [
    `OBX|2|ST|CRYO-PRIOR-ID^${HIDDEN}^L||${HIDDEN}`,
    `OBX|3|TX|LAB^${HIDDEN}^L||${HIDDEN}`,
    "NTE|1||words",
  ];
  expect(hideHl7(answer, false, () => false)).toEqual([own, ...others]);
  expect(hideHl7(answer, false, (...at) => ["OBX-5", "OBX-1", "NTE-3"].includes(at.join("-")))).toEqual([
    own.replace("1|TX", `${HIDDEN}|TX`).replace("Stored: 1 container", HIDDEN),
    ...others.slice(0, 2).map((each) => each.replace(/\d/, HIDDEN)),
    `NTE|1||${HIDDEN}`,
  ]);
});

test("each observation and each column of results is shown, or known to be the patient's", () => {
  const observations = [...Object.values(OF_ORDER), ...Object.values(OF_CONTAINER)].map(([code]) => code);
  const hiddenOf = (all: readonly string[], shown: ReadonlySet<string>) =>
    all.filter((each) => !shown.has(each));
  expect(hiddenOf(observations, SHOWN_OBSERVATIONS)).toEqual(["CRYO-PRIOR-ID"]);
  expect(hiddenOf([...SHOWN_OBSERVATIONS], new Set(observations))).toEqual([]);
  expect(hiddenOf(RESULT_COLUMNS, SHOWN_COLUMNS)).toEqual(["subject_code", "container_description"]);
  expect(hiddenOf([...SHOWN_COLUMNS], new Set(RESULT_COLUMNS))).toEqual([]);
});

test("of what a foreign system wrote, the lines show just what the tree does", async () => {
  const canary = "Canary";
  const names = ["MSA", "ERR", "NTE", "PID", "OBX", "ORC", "OBR", "SPM", "SAC", "TQ1", "PV1", "ZXX", "EVN"];
  const text = [
    "MSH|^~\\&|A|B|C|D|2026||ACK|1|P|2.5",
    ...names.map((name) => {
      const fields = Array.from({ length: 30 }, (_, n) => `${canary}${n}^x${n}^y${n}~z${n}`);
      return [name, ...fields].join("|");
    }),
  ].join("\r");
  const message = Hl7Message.parse(text);
  const reading = { dictionary: openDictionary(), mayShowPhi: false };
  const lines = hideHl7(text, false);
  for (const segment of message.segments.slice(1)) {
    if (segment.name === "PID") continue;
    const shown = describeSegment(segment, message, reading).values.filter(({ value }) => value !== HIDDEN);
    const kept = lines[segment.index]?.split(/[|^~]/).slice(1);
    expect(kept?.filter((value) => value !== HIDDEN)).toEqual(shown.map(({ value }) => value));
  }
});

test("of a line that is no segment nothing is shown, whatever delimiters the message has", () => {
  const text = "MSH#*~\\&#A#B\rNTE#1##Anna*Beispiel\nborn 1980\rMSA|AA|Anna\rMSA#AA#7#Anna\rnte#Anna\r";
  expect(hideHl7(text, false)).toEqual([
    "MSH#*~\\&#A#B",
    `NTE#1##${HIDDEN}*${HIDDEN}`,
    HIDDEN,
    HIDDEN,
    `MSA#AA#7#${HIDDEN}`,
    HIDDEN,
  ]);
  expect(hideHl7(text, true)).toContain("born 1980");
  expect(hideHl7("BTS|1|about Anna\rPID|1||MRN-1\r", false)).toEqual([`BTS|1|${HIDDEN}`, `PID|${HIDDEN}`]);
});

test("everything is shown to somebody who asked for patients' data", () => {
  expect(shownValue("QRD", { field: 8 }, VALUE, true)).toBe(VALUE);
});
