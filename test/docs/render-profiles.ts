import { z } from "zod";
import { builtinProfiles } from "../../src/mapping/profile/builtin.ts";
import { csvResultColumns, WORDS_BY_COLUMN } from "../../src/mapping/profile/results-schema.ts";
import {
  type ProfileDefinition,
  profileSchema,
  type SourceDefinition,
  type ValueDefinition,
} from "../../src/mapping/profile/schema.ts";
import { toValueObject } from "../../src/mapping/profile/value.ts";

const INTRODUCTION = `# Profile reference

What the built-in profiles read, and every setting. The [cookbook](mapping-cookbook.md) has recipes. Generated from \`src/mapping/profile/\`.
`;

/** The text of `docs/guide/profile-reference.md`. */
export function renderProfiles(): string {
  const profiles = Object.entries(builtinProfiles).map(([name, profile]) => renderProfile(name, profile));
  const sections = [
    ...profiles,
    renderValueSettings(),
    renderTransforms(),
    renderSettings(),
    renderColumns(),
  ];
  return [INTRODUCTION, ...sections].join("\n");
}

/** The values of an order, in the sequence of the page. */
const VALUES: readonly string[] = [
  ...["operation", "facility", "placerOrderNumber"],
  ...["subject.code", "subject.priorCode", "subject.firstName", "subject.lastName", "subject.dateOfBirth"],
  ...["containers.label", "containers.description"],
];

function renderProfile(name: string, profile: ProfileDefinition): string {
  const rows = VALUES.flatMap((key) => {
    const value = findIn(profile, key);
    return value === undefined ? [] : [[code(key), placesOf(value), howOf(value)]];
  });
  const places = profile.format === "hl7" ? "HL7 paths, the first that counts" : "CSV column";
  const settings = Object.entries(profile).filter(
    ([key, value]) => !VALUES.some((each) => each.startsWith(key)) && key !== "results" && !isEmpty(value),
  );
  const each = profile.containers?.each;
  const others = each === undefined ? settings : [...settings, ["containers.each", each] as const];
  return [
    `## ${name}`,
    "",
    table(["value", places, "then"], rows),
    "",
    ...(profile.format === "hl7" ? [...HL7_NOTES, ""] : []),
    table(
      ["other setting", "is"],
      others.map(([key, value]) => [
        code(key),
        [value]
          .flat()
          .map((one) => code(String(one)))
          .join(", "),
      ]),
    ),
    "",
  ].join("\n");
}

const HL7_NOTES = [
  "A place in parentheses counts only when its field does not repeat. A label is read from",
  "[the segment that stands for the container](mapping-cookbook.md#where-are-the-containers).",
];

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function findIn(profile: ProfileDefinition, key: string): ValueDefinition | undefined {
  let value: unknown = profile;
  for (const part of key.split(".")) value = (value as Record<string, unknown> | undefined)?.[part];
  return value as ValueDefinition | undefined;
}

function placesOf(value: ValueDefinition): string {
  const { from = [] } = toValueObject(value);
  return [from].flat().map(sourceText).join(", ");
}

function sourceText(source: SourceDefinition): string {
  if (typeof source === "string") return code(source);
  if ("only" in source) return `(${code(source.only)})`;
  return "join" in source
    ? source.join.map((part) => code(typeof part === "string" ? part : part.from)).join(" with ")
    : code(source.value);
}

function howOf(value: ValueDefinition): string {
  const { as, table: translations, agree } = toValueObject(value);
  const steps = (as === undefined ? [] : [as].flat()).map((step) =>
    code(typeof step === "string" ? step : JSON.stringify(step)),
  );
  const words = Object.entries(translations ?? {}).map(([from, to]) =>
    from === to ? code(from) : `${code(from)} is ${code(to ?? "taken out")}`,
  );
  return [
    ...(agree === true ? ["all that are filled must agree"] : []),
    ...(steps.length > 0 ? [steps.join(", ")] : []),
    ...(words.length > 0 ? [`table: ${words.join(", ")}`] : []),
  ].join("; ");
}

/** What each transform of `as` does. */
const TRANSFORMS: Readonly<Record<string, string>> = {
  trim: "takes blanks off both ends",
  upper: "makes capitals",
  lower: "makes small letters",
  collapse: "makes one blank of each run of white space",
  digits: "keeps 0 to 9 only",
  date: "reads a date: HL7 and ISO ones, in CSV those of `dateFormats`; `{ date: dd.MM.yyyy }` or a list reads these; tokens are yyyy MM M MMM dd d HH H mm ss, and `excel` for a serial number",
  pad: "fills up: `{ pad: { length: 8 } }` with zeros on the left; `with: x` and `side: right` for others",
  regex:
    "replaces the first match: `{ regex: { match: '^0*(\\d+)$', replace: '$1', expected: a number } }`; no match is an error, which says what was `expected`",
  table:
    "translates: `{ table: { A: B } }`; a value that is not listed is an error; `caseSensitive` as above",
  prefix: "puts a text before the value unless it is there: `{ prefix: P- }`",
  suffix: "puts a text behind the value unless it is there",
  decimal: "`{ decimal: ',' }` turns that sign into a point, and refuses what is no number",
};

/** @throws RangeError for a transform that the page has no words for */
function renderTransforms(): string {
  const as = findValueSchema()?.properties?.as?.anyOf?.[0]?.anyOf ?? [];
  const names = as.flatMap(
    ({ enum: plain, properties }) => plain ?? Object.keys(properties ?? {}).slice(0, 1),
  );
  const rows = [...new Set(names)].map((name) => {
    const words = TRANSFORMS[name];
    if (words === undefined) throw new RangeError(`no words for the transform ${name}`);
    return [code(name), words] as const;
  });
  return ["## Transforms", "", "Each step of `as`, in turn.", "", list(rows), ""].join("\n");
}

interface JsonSchema {
  readonly enum?: readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly anyOf?: readonly JsonSchema[];
}

const schema = z.toJSONSchema(profileSchema, {
  io: "input",
  reused: "inline",
  unrepresentable: "any",
}) as JsonSchema;

function renderValueSettings(): string {
  const rows = described(findValueSchema());
  return ["## Settings of one value", "", list(rows), ""].join("\n");
}

function findValueSchema(): JsonSchema | undefined {
  return schema.properties?.operation?.anyOf?.find(({ properties }) => properties?.from !== undefined);
}

function renderSettings(): string {
  const { subject, containers, results, orders, ...whole } = schema.properties ?? {};
  const rows = [
    ...described({ properties: whole }),
    ...described(whole.trailer, "trailer."),
    ...described(orders, "orders."),
    ...described(subject, "subject."),
    ...described(containers, "containers."),
    ...described(results, "results."),
  ];
  const parts = ["", "HL7", "CSV"].map((format) => {
    const own = rows.filter(([name, words]) => formatOf(name, words) === format);
    const head = format === "" ? [] : [`For ${format} alone:`, ""];
    return [...head, list(own.map(([name, words]) => [name, words.replace(/^(?:HL7|CSV): /, "")])), ""].join(
      "\n",
    );
  });
  return ["## Settings of a profile", "", "Beside the values of the tables above.", "", ...parts].join("\n");
}

/** The format that alone has the setting, which its words begin with; none where both have it. */
function formatOf(name: string, words: string): string {
  return name.startsWith("`trailer.") ? "CSV" : (/^(HL7|CSV): /.exec(words)?.[1] ?? "");
}

/** What the columns of CSV results can hold. */
function renderColumns(): string {
  const names: readonly string[] = csvResultColumns;
  const isThere = ([column]: readonly [string, string]) => names.includes(column);
  const all = Object.entries(WORDS_BY_COLUMN);
  const rows = [...all.filter(isThere), ...all.filter((each) => !isThere(each))];
  return [
    "## Columns of CSV results",
    "",
    `What \`results.columns\` can name; unless set those up to \`${all.findLast(isThere)?.[0]}\`. A column without a value is empty.`,
    "",
    list(rows.map(([column, words]) => [code(column), words])),
    "",
  ].join("\n");
}

function described(of: JsonSchema | undefined, prefix = ""): [string, string][] {
  return Object.entries(of?.properties ?? {}).flatMap(
    ([key, { description = WITHOUT_WORDS[prefix + key] ?? "" }]): [string, string][] =>
      description === "" && VALUES.includes(prefix + key) ? [] : [[code(prefix + key), description]],
  );
}

/** Settings that say in the schema only what they are called. */
const WITHOUT_WORDS: Readonly<Record<string, string>> = Object.fromEntries([
  ["format", "`hl7` or `csv`; the built-in profiles bring it."],
  ["from", "Where the value stands."],
]);

function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

function list(rows: readonly (readonly [string, string])[]): string {
  return rows.map(([name, words]) => `- ${name}: ${words}`).join("\n");
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
