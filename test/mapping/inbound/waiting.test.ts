import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { csvResultRows } from "../../../src/mapping/outbound/result-csv.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { at } from "../../support/places.ts";
import {
  csvMessage,
  csvProfile,
  facilityIdByCode,
  hl7Message,
  hl7Profile,
  hl7Text,
  mapOne,
} from "../mapped.ts";
import { composeHl7, waiting } from "../outcomes.ts";

const ROW = {
  order_number: "A-1",
  operation: "STORE",
  facility: "NORTH",
  subject_code: "S-1",
  first_name: "Ada",
  last_name: "Example",
  date_of_birth: "1990-01-31",
  container_label: "V-1",
  container_description: "vial",
};
const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const OBR = "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1";

describe("a message waits", () => {
  test("when nothing is wrong with it but an unknown facility, which it names with its subject and order number", async () => {
    const mapped = mapOne(await csvProfile(), csvMessage([{ ...ROW, facility: "WEST" }]));
    expect(mapped).toMatchObject({
      verdict: "waiting",
      orders: [],
      problems: [{ code: "MAPPING_FACILITY_UNKNOWN", unknownCode: "WEST" }],
      orderNumbers: ["A-1"],
    });
    expect(mapped.subjectCodes?.map((code) => code.reveal())).toEqual(["S-1"]);
  });

  test("when its operation is in no table, also when it could be a registration without a number", async () => {
    const row = { ...ROW, operation: "ENROL", order_number: "", container_label: "V-1" };
    const { verdict, problems } = mapOne(await csvProfile(), csvMessage([row]));
    expect([verdict, problems[0]?.unknownCode]).toEqual(["waiting", "ENROL"]);
  });

  test("as a whole when one of its orders has an unknown code", async () => {
    const segments = [PID, "ORC|NW|A-1", OBR, "ORC|NW|A-2", "OBR|2|A-2||CRYO-MOVE|||||||||||SEM^^L-2"];
    const mapped = mapOne(await hl7Profile(), hl7Message(hl7Text("ORM^O01", segments)));
    expect(mapped).toMatchObject({ verdict: "waiting", orders: [], orderNumbers: ["A-1", "A-2"] });
    expect(mapped.problems.map(({ unknownCode }) => unknownCode)).toEqual(["CRYO-MOVE"]);
  });

  test("for every code that it lacks", async () => {
    const row = { ...ROW, facility: "WEST", operation: "FREEZE" };
    const { problems } = mapOne(await csvProfile(), csvMessage([row]));
    expect(problems.map(({ unknownCode }) => unknownCode)).toEqual(["FREEZE", "WEST"]);
  });
});

describe("a message is refused", () => {
  test("when it has another mistake beside the unknown code", async () => {
    const { verdict } = mapOne(
      await csvProfile(),
      csvMessage([{ ...ROW, facility: "WEST", subject_code: "" }]),
    );
    expect(verdict).toBe("refused");
  });

  test("when a table of something else lacks its value, which is not reported as a code", async () => {
    const profile = await csvProfile({
      subject: { code: { from: "subject_code", table: { "S-2": "S-2" } } },
    });
    const { verdict, problems } = mapOne(profile, csvMessage([ROW]));
    expect([verdict, problems[0]?.code, problems[0]?.unknownCode]).toEqual([
      "refused",
      "MAPPING_CODE_UNKNOWN",
      undefined,
    ]);
  });

  test("for an unknown code where the site wants it so", async () => {
    const mapper = createMapper(await csvProfile(), { facilityIdByCode, unknownCodes: "refuse" });
    expect(mapper.map(csvMessage([{ ...ROW, facility: "WEST" }])).verdict).toBe("refused");
  });

  test("for an unknown code where its file is taken whole or not at all", async () => {
    const profile = await csvProfile({ wholeFile: true });
    expect(mapOne(profile, csvMessage([{ ...ROW, facility: "WEST" }])).verdict).toBe("refused");
  });
});

describe("a message that waits is answered", () => {
  const problems = [
    {
      code: "MAPPING_FACILITY_UNKNOWN",
      place: at("message 1, MSH-4.1"),
      message: 'holds "WEST"',
      unknownCode: "WEST",
    },
  ] as const;

  test("with AA, a warning, and orders on hold instead of accepted", async () => {
    const file = composeHl7(waiting(problems), await hl7Profile());
    expect(file?.bytes.toString().split("\r").slice(1, -1)).toEqual([
      'MSA|AA|MSG-1|On hold, nothing was done yet: message 1, MSH-4.1: holds "WEST"',
      'ERR||MSH^1^4^1^1|103^Table value not found^HL70357|W|MAPPING_FACILITY_UNKNOWN|||message 1, MSH-4.1: holds "WEST"',
      'NTE|1|L|On hold, nothing was done yet: message 1, MSH-4.1: holds "WEST"',
      "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
      "ORC|OH|LAB-1^NORTHLAB||GRP-7|HD",
      "OBR|1|LAB-1^NORTHLAB||CRYO-STORE^Cryogenic storage^L|||||||||||SEM&Semen^^STRAW-1",
    ]);
  });

  test("with the site's own codes where its profile has some", async () => {
    const profile = await hl7Profile({
      results: { statusMap: { waiting: { "ORC-1": "SC", "ORC-5": "SC" } } },
    });
    expect(composeHl7(waiting(problems), profile)?.bytes.toString()).toContain(
      "ORC|SC|LAB-1^NORTHLAB||GRP-7|SC\r",
    );
  });

  test("in a row of its own with the status waiting", async () => {
    expect(csvResultRows(waiting(problems), await csvProfile())).toEqual([
      expect.objectContaining({
        order_number: "A-1",
        status: "waiting",
        error: 'message 1, MSH-4.1: holds "WEST"',
      }),
    ]);
  });

  test("with nothing where the profile doesn't send it", async () => {
    const profile = await hl7Profile({ results: { send: ["acknowledged", "refused"] } });
    expect(composeHl7(waiting(problems), profile)).toBeUndefined();
  });
});

describe("a code that differs from a known one only in case", () => {
  const messageOf = async (definition: ProfileDefinition, facility: string) =>
    mapOne(await csvProfile(definition), csvMessage([{ ...ROW, facility }])).problems[0]?.message;

  test("is said to, where case counts", async () => {
    expect(await messageOf({}, "north")).toMatch(/; NORTH differs only in case$/);
    const facility = { from: "facility", table: { Nord: "NORTH", n: "SOUTH" }, caseSensitive: true };
    expect(await messageOf({ facility }, "NORD")).toMatch(/; Nord differs only in case$/);
    expect(await messageOf({ facility }, "West")).toMatch(/expected one of Nord, n$/);
  });
});

describe("the hint for an unknown code", () => {
  const hintsOf = async (definition: ProfileDefinition, own: Partial<typeof ROW>) =>
    mapOne(await csvProfile(definition), csvMessage([{ ...ROW, ...own }])).problems.map(({ hint }) => hint);

  test("names the profile and what to write there", async () => {
    expect(await hintsOf({}, { operation: "frz" })).toEqual([
      'Write `operation: { table: { "frz": STORE or RETRIEVAL } }` into profile test; REGISTER makes a subject known alone. Then `cryobridge reload`; waiting messages are then processed. Or have the lab correct the code and send it again, and discard the message that has it: `cryobridge messages discard ID --reason TEXT`.',
    ]);
  });

  test.each([
    [
      "operation",
      'Write `operation: { from: "operation", table: { "frz": STORE or RETRIEVAL } }` in place of `operation` in',
    ],
    [{ from: "operation" }, 'Add a line `table: { "frz": STORE or RETRIEVAL }` below `operation` of'],
    [{ table: { put: "STORE" } }, 'Add a line `"frz": STORE or RETRIEVAL` below `operation.table` of'],
  ] as const)("fits what the profile says of the value already: %j", async (operation, words) => {
    expect(await hintsOf({ operation }, { operation: "frz" })).toEqual([
      expect.stringContaining(`${words} profile test;`),
    ]);
  });

  test("names `facilities` where no table of the profile translates the code", async () => {
    expect(await hintsOf({}, { facility: "W" })).toEqual([
      'Add a line `"W": ID` below `facilities` of the configuration file, with the service\'s facility id. Several codes may have one id. Then `cryobridge reload`; waiting messages are then processed. Or have the lab correct the code and send it again, and discard the message that has it: `cryobridge messages discard ID --reason TEXT`.',
    ]);
  });

  test("names the profile's table of facilities where that lacks the code, and both where what it gives is unknown", async () => {
    const facility = { from: "facility", table: { N: "NORTH", W: "WEST" } };
    const [lacking] = await hintsOf({ facility }, { facility: "S" });
    expect(lacking).toContain(
      'Add a line `"S": NAME` below `facility.table` of profile test; the code becomes a name of `facilities`.',
    );
    const [given] = await hintsOf({ facility }, { facility: "W" });
    expect(given).toContain(
      '`"WEST": ID` below `facilities` of the configuration file, with the service\'s facility id. Or correct `facility.table` of profile test',
    );
  });

  test("has a profile written where a built-in one was asked, and has no line for a table among transforms", async () => {
    const builtin = { ...(await csvProfile()), name: "builtin/csv-orders" };
    const [hint] = mapOne(builtin, csvMessage([{ ...ROW, operation: "FRZ" }])).problems;
    expect(hint?.hint).toContain("with `extends: builtin/csv-orders` and `operation: { table: {");
    // Pasted as it stands, it is no operation: a person decides which one.
    const written = /`(operation: .*?)`/.exec(hint?.hint ?? "")?.[1] ?? "";
    await expect(csvProfile(parse(written))).rejects.toThrow("STORE or RETRIEVAL");
    const among = { from: "facility", as: [{ table: { N: "NORTH" } }, "trim" as const] };
    const [own] = await hintsOf({ facility: among }, { facility: "S" });
    expect(own).toContain(
      "Add the code to `facility.as` of profile test; the code becomes a name of `facilities`.",
    );
  });

  test("quotes no code of another table, which may be a patient's", async () => {
    const subject = { code: { from: "subject_code", table: { A: "B" } } };
    expect(await hintsOf({ subject }, {})).toEqual([
      "Add the code to `subject.code.table` of profile test. Then `cryobridge reload`, and `cryobridge messages replay ID`. Or have the lab correct the code and send it again.",
    ]);
  });

  test("has the file dropped again where all of it was refused", async () => {
    expect(await hintsOf({ wholeFile: true }, { operation: "frz" })).toEqual([
      expect.stringMatching(
        /^Nothing waits for the code, since .* \(`wholeFile`\)\. .* Then `cryobridge reload`, and drop the file again\. Or have the lab correct the code in the file/,
      ),
    ]);
  });

  test("has the message mapped again by a person where it was refused, and says why it does not wait: for another mistake, or by the setting", async () => {
    const again =
      /Then `cryobridge reload`, and `cryobridge messages replay ID`\. Or have the lab correct the code/;
    const [hint] = await hintsOf({}, { operation: "frz", subject_code: "" });
    expect(hint).toMatch(again);
    expect(hint).toMatch(/^The message does not wait for the code, since more is wrong with it\. Write/);
    const refusing = createMapper(await csvProfile(), { facilityIdByCode, unknownCodes: "refuse" });
    const { problems } = refusing.map(csvMessage([{ ...ROW, facility: "W" }]));
    expect(problems[0]?.hint).toMatch(again);
    expect(problems[0]?.hint).toMatch(
      /^The message does not wait .* since `mapping\.unknownCodes` is `refuse`\. Add/,
    );
  });

  test("names the file of the profile", async () => {
    const profile = { ...(await hl7Profile()), declaredIn: "profiles/lims.yaml" };
    const segments = [PID, "ORC|NW|A-1", OBR.replace("CRYO-STORE", "FRZ")];
    const { problems } = mapOne(profile, hl7Message(hl7Text("ORM^O01", segments)));
    expect(problems[0]?.hint).toContain("into profile test (profiles/lims.yaml);");
  });
});
