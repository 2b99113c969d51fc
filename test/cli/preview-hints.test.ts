import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

type Plain = Readonly<Record<string, unknown>>;

/** What goes beyond a plain order, and the code of its refusal. */
interface Case {
  readonly code: string;
  readonly content: string | Buffer;
  /** Where the hint says that its setting belongs. */
  readonly at: "profile" | "connector" | "configuration";
  /** The settings of the hint that are written together; all that it shows unless given. */
  readonly pick?: RegExp;
  readonly profile?: Plain;
  readonly connector?: Plain;
  /** Where the hint shows a path alone: the setting that it belongs to. */
  readonly as?: (path: string) => Plain;
}

const MSH = "MSH|^~\\&|LAB|NORTH|CB|ST|20261120081500||ORM^O01|C1|P|2.4";
const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORC = "ORC|NW|A-1";
const OBR = "OBR|1|A-1||CRYO-STORE|||||||||||SEM^^L-1";
const NTE = "NTE|1||last";
const hl7 = (...segments: string[]) => `${segments.join("\r")}\r`;

const HEADINGS =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description";
const ROW = "B-1,STORE,NORTH,P-1,Ada,Example,1990-01-31,T-1,Serum";
const csv = (...lines: string[]) => `${lines.join("\n")}\n`;
const latin = (text: string) => Buffer.from(text, "latin1");

const HL7_CASES: readonly Case[] = [
  {
    code: "HL7_UNTERMINATED",
    content: hl7(MSH, PID, ORC, OBR, NTE).slice(0, -1),
    at: "connector",
  },
  {
    code: "HL7_LINE_ENDS_MIXED",
    content: hl7(MSH, PID, ORC, OBR, NTE, NTE).replace(/\rNTE([^\r]*)\r$/, "\nNTE$1\r"),
    at: "connector",
    pick: /^mixedLineEnds/,
  },
  {
    code: "HL7_CHARSET_UTF8",
    content: hl7(`${MSH}||||||8859/1`, PID.replace("Anna", "Jürgen"), ORC, OBR),
    at: "connector",
    pick: /forced/,
  },
  {
    code: "HL7_CHARSET_UTF8",
    content: hl7(MSH, PID.replace("Anna", "Änna"), ORC, OBR),
    connector: { encoding: "windows-1252" },
    at: "connector",
    pick: /^encoding: utf-8/,
  },
  {
    code: "HL7_CHARSET_BYTES",
    content: latin(hl7(MSH, PID.replace("Anna", "Änna"), ORC, OBR)),
    at: "connector",
    pick: /^encoding: /,
  },
  {
    code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED",
    content: hl7(MSH.replace("ORM^O01", "ADT^A01"), PID),
    at: "profile",
    pick: /^ignore/,
  },
  {
    code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED",
    content: hl7(MSH.replace("ORM^O01", "ADT^A01"), PID),
    at: "profile",
    pick: /^(accept|register)/,
  },
  {
    code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED",
    content: hl7(MSH.replace("ORM^O01", "OMG^O19"), PID, ORC, OBR),
    at: "profile",
    pick: /^accept/,
  },
  {
    code: "MAPPING_VERSION_UNSUPPORTED",
    content: hl7(MSH.replace("2.4", "2.2"), PID, ORC, OBR),
    at: "profile",
    pick: /^versions/,
  },
  {
    code: "MAPPING_PROCESSING_ID",
    content: hl7(MSH.replace("|P|", "|T|"), PID, ORC, OBR),
    profile: { processingId: "P" },
    at: "profile",
    pick: /^processingId/,
  },
  {
    code: "MAPPING_PROCESSING_MODE",
    content: hl7(MSH.replace("|P|", "|P^A|"), PID, ORC, OBR),
    at: "profile",
    pick: /^processingModes/,
  },
  {
    code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
    content: hl7(MSH, PID, "ORC|AF|A-1", OBR),
    at: "profile",
    pick: /^cancel/,
  },
  {
    code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
    content: hl7(MSH, PID, "ORC|HD|A-1", OBR),
    profile: { control: ["SS"] },
    at: "profile",
    pick: /^control/,
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: hl7(MSH, PID, ORC, OBR.replace("L-1", "NA")),
    at: "profile",
    pick: /allow/,
  },
  {
    code: "MAPPING_NO_CONTAINER",
    content: hl7(MSH, PID, ORC, OBR.replace("SEM^^L-1", ""), "OBX|1|ST|VIAL||V-1"),
    at: "profile",
    pick: /^containers/,
  },
  {
    code: "MAPPING_VALUE_MISSING",
    content: hl7(MSH.replace("|C1|", "||"), PID, ORC, OBR),
    at: "profile",
    pick: /^controlId/,
  },
  {
    code: "MAPPING_DATE_INVALID",
    content: hl7(MSH, PID.replace("19800101", "01.02.1980"), ORC, OBR),
    at: "profile",
    pick: /^subject/,
  },
  {
    code: "MAPPING_VALUES_DISAGREE",
    content: hl7(MSH, PID, ORC, OBR.replace("A-1", "X-9")),
    at: "profile",
    pick: /^placerOrderNumber/,
  },
  {
    code: "MAPPING_VALUES_DISAGREE",
    content: hl7(MSH, PID, ORC, OBR, "ZFA|1|Anna", "ZFA|2|Ada"),
    profile: { subject: { firstName: "ZFA-2" } },
    at: "profile",
    pick: /^ZFA/,
    as: (path) => ({ subject: { firstName: path } }),
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: hl7(MSH, PID, ORC, `${OBR}~SEM^^L-2`),
    at: "profile",
    pick: /^OBR-15\[1\]\.3$/,
    as: (path) => ({ containers: { label: path } }),
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: hl7(MSH, PID, ORC, OBR, "OBX|1|ST|X||no", "OBX|2|ST|N||N-1^a~N-2^a"),
    profile: { placerOrderNumber: { from: "OBX[3.1=N]-5.1", agree: false } },
    at: "profile",
    pick: /^OBX\[3\.1=N\]-5\[1\]\.1$/,
    as: (path) => ({ placerOrderNumber: { from: path } }),
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: hl7(MSH, PID.replace("Anna", "B&C"), ORC, OBR),
    at: "profile",
    pick: /^PID/,
    as: (path) => ({ subject: { firstName: path } }),
  },
  {
    code: "MAPPING_SUBJECT_AMBIGUOUS",
    content: hl7(MSH, PID.replace("MRN-1^^^N^MR", "1^^^ONE~2^^^TWO"), ORC, OBR),
    at: "profile",
    pick: /ONE/,
    as: (path) => ({ subject: { code: path } }),
  },
  {
    code: "MAPPING_OPERATION_UNKNOWN",
    content: hl7(MSH, PID, ORC, OBR.replace("CRYO-STORE", "FREEZE")),
    at: "profile",
    pick: /^operation/,
    as: (text) => parse(text.replace("STORE or RETRIEVAL", "STORE")),
  },
  {
    code: "MAPPING_OPERATION_UNKNOWN",
    content: hl7(MSH, PID, ORC, OBR.replace("CRYO-STORE", "FREEZE^X")),
    profile: { operation: "OBR-4.1" },
    at: "profile",
    pick: /^operation: \{ from/,
    as: (text) => parse(text.replace("STORE or RETRIEVAL", "STORE")),
  },
  {
    code: "MAPPING_OPERATION_UNKNOWN",
    content: hl7(MSH, PID, ORC, OBR.replace("CRYO-STORE", "FREEZE")),
    profile: { operation: { from: "OBR-4.1" } },
    at: "profile",
    pick: /^table/,
    as: (text) => ({ operation: parse(text.replace("STORE or RETRIEVAL", "STORE")) }),
  },
  {
    code: "MAPPING_OPERATION_UNKNOWN",
    content: hl7(MSH, PID, ORC, OBR.replace("CRYO-STORE", "FREEZE")),
    profile: { operation: { table: { THAW: "RETRIEVAL" } } },
    at: "profile",
    pick: /^"FREEZE"/,
    as: (line) => ({ operation: { table: parse(line.replace("STORE or RETRIEVAL", "STORE")) } }),
  },
  {
    code: "MAPPING_FACILITY_UNKNOWN",
    content: hl7(MSH.replace("NORTH", "EAST"), PID, ORC, OBR),
    at: "configuration",
    pick: /^"EAST"/,
    as: (line) => ({ facilities: parse(line.replace("ID", "14")) }),
  },
];

const CSV_CASES: readonly Case[] = [
  { code: "CSV_ROW_RAGGED", content: csv(HEADINGS, "# a comment", ROW), at: "profile", pick: /^noRow/ },
  { code: "CSV_ROW_RAGGED", content: csv(HEADINGS, ROW, "Total: 1"), at: "profile", pick: /^trailer: / },
  {
    code: "CSV_ROW_RAGGED",
    content: csv(HEADINGS, ROW.replace(",Serum", "")),
    at: "profile",
    pick: /^shortRows/,
  },
  {
    code: "CSV_ROW_QUOTES",
    content: csv(HEADINGS, ROW.replace("Serum", '5" straw')),
    at: "profile",
    pick: /^quote/,
  },
  {
    code: "CSV_QUOTE_UNCLOSED",
    content: csv(HEADINGS, ROW.replace("Serum", '"Serum')),
    at: "profile",
    pick: /^quote/,
  },
  {
    code: "CSV_ROW_UNFINISHED",
    content: csv(HEADINGS.replace(",container_description", ""), ROW.replace(",Serum", "")).slice(0, -1),
    at: "profile",
    pick: /^lastLineEnd/,
  },
  {
    code: "CSV_TRAILER_MISSING",
    content: csv(HEADINGS, ROW),
    profile: { trailer: { line: "FIN;(\\d+)", count: 1 } },
    at: "profile",
    pick: /^required: /,
    as: (text) => ({ trailer: parse(text) }),
  },
  {
    code: "CSV_ENCODING_UTF8",
    content: csv(HEADINGS, ROW.replace("Ada", "Jürgen")),
    connector: { encoding: "windows-1252" },
    at: "connector",
    pick: /^encoding: utf-8/,
  },
  {
    code: "CSV_ENCODING_UTF8",
    content: csv(HEADINGS, ROW.replace("Ada", "Jürgen")),
    connector: { encoding: "windows-1252" },
    at: "connector",
    pick: /forced/,
  },
  {
    code: "CSV_ENCODING_DOUBTFUL",
    content: latin(csv(HEADINGS, ROW.replace("Ada", "J\x94rgens"))),
    at: "connector",
    pick: /^encoding: windows-1252/,
  },
  {
    code: "CSV_BYTES",
    content: latin(csv(HEADINGS, ROW.replace("Ada", "Jürgen"))),
    connector: { encoding: "utf-8" },
    at: "connector",
    pick: /^encoding: windows-1252/,
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: csv(HEADINGS, ROW.replace("P-1", "N/A")),
    at: "profile",
    pick: /allow/,
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: csv(HEADINGS, ROW.replace("B-1", "1-Mar")),
    at: "profile",
    pick: /allow/,
  },
  {
    code: "MAPPING_VALUE_INVALID",
    content: csv(HEADINGS, ROW.replace("T-1", "T-1;T-2")),
    at: "profile",
    pick: /split/,
  },
  {
    code: "MAPPING_DATE_INVALID",
    content: csv(HEADINGS, ROW.replace("1990-01-31", "31.01.1990")),
    at: "profile",
    pick: /^dateFormats/,
  },
  {
    code: "MAPPING_TOO_MANY_LABELS",
    content: csv(HEADINGS, ...Array.from({ length: 501 }, (_, i) => ROW.replace("T-1", `T-${i}`))),
    at: "configuration",
    pick: /^guards/,
  },
  {
    code: "CSV_COLUMN_MISSING",
    content: csv(HEADINGS.replace("subject_code", "Subject Code"), ROW),
    at: "profile",
    pick: /^subject/,
  },
  {
    code: "CSV_COLUMN_MISSING",
    content: csv(HEADINGS.replace("container_label", "straw"), ROW),
    at: "profile",
    pick: /^containers/,
    as: (text) => parse(text.replace("HEADING", "straw")),
  },
  {
    code: "FILE_TOO_LARGE",
    content: csv(HEADINGS, ...Array.from({ length: 30 }, (_, i) => ROW.replaceAll("-1,", `-${i},`))),
    connector: { maxBytes: "1KB" },
    at: "connector",
    pick: /^maxBytes: /,
  },
];

function merged(one: Plain, other: Plain): Plain {
  const both = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const known = both[key];
    both[key] = isPlain(known) && isPlain(value) ? merged(known, value) : value;
  }
  return both;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Previews a file of this content with settings added, and says what is wrong with it. */
async function previewWith(format: "hl7" | "csv", { content, ...given }: Case, settings: Plain) {
  return withFolder(async (folder) => {
    const connector = {
      name: "lab",
      type: `${format}-drop`,
      directory: "./lab",
      profile: "site",
      ...given.connector,
    };
    const profile = merged({ extends: `builtin/${format}-orders` }, given.profile ?? {});
    const own = (at: Case["at"]) => (given.at === at ? settings : {});
    const configuration = merged(
      {
        dataDir: "./data",
        service: {
          baseUrl: "http://127.0.0.1:1",
          surface: "request",
          auth: { tokenUrl: "http://127.0.0.1:1/t", clientId: "c", clientSecret: "s" },
        },
        facilities: { NORTH: 12 },
        connectors: [merged(connector, own("connector"))],
        profiles: { site: merged(profile, own("profile")) },
      },
      own("configuration"),
    );
    await writeFile(join(folder, "c.yaml"), JSON.stringify(configuration));
    const file = join(folder, `in.${format}`);
    await writeFile(file, content);
    const line = ["--json", "--config", join(folder, "c.yaml"), "preview", file, "--connector", "lab"];
    const { status, stdout, stderr } = await runCli(line, { env: {} });
    const answer = JSON.parse(stdout === "" ? stderr : stdout);
    const problems = answer.error
      ? [answer.error]
      : [
          ...answer.problems,
          ...answer.messages.flatMap((message: { problems: unknown[] }) => message.problems),
        ];
    return { status, problems: problems as readonly { code: string; hint: string }[] };
  });
}

describe.each([
  ["hl7", HL7_CASES],
  ["csv", CSV_CASES],
] as const)("what a hint proposes for %s", (format, cases) => {
  test.each(cases.map((each) => [each.code, String(each.pick ?? ""), each] as const))(
    "%s: once its setting %s stands where the hint says, the same file is taken",
    async (code, _, each) => {
      const before = await previewWith(format, each, {});
      const hint = before.problems.find((problem) => problem.code === code)?.hint ?? "";
      const shown = [...hint.matchAll(/`([^`]+)`/g)].map(([, text]) => text ?? "");
      const picked = shown.filter((text) => each.pick?.test(text) ?? true);
      expect(picked, `${code}: ${hint} ${JSON.stringify(before.problems)}`).not.toEqual([]);
      const settings = picked.map((text) => each.as?.(text) ?? parse(text)).reduce(merged);
      const after = await previewWith(format, each, settings);
      expect(after, hint).toEqual({ status: 0, problems: [] });
      // A daemon that runs has the setting only then.
      expect(hint).toMatch(
        each.at === "profile" ? /`cryobridge reload`/ : /`cryobridge reload`|restart the daemon/,
      );
    },
  );
});
