import { FAILURES, type FailureCode } from "../../src/core/failures.ts";

interface Area {
  readonly title: string;
  readonly about: string;
  /** First words of its codes. */
  readonly prefixes: readonly string[];
  /**
   * The page says what to do as well: a lab gets these codes without the program at hand. All other hints are read where the
   * code is, with the ids and settings that are meant.
   */
  readonly isWithHints?: true;
}

const AREAS: readonly Area[] = [
  {
    title: "Configuration and command line",
    about: "Reported by a command or at the start, before anything is done.",
    prefixes: ["CONFIG", "CLI"],
  },
  { title: "Console", about: "Reported at the start, or by the console.", prefixes: ["CONSOLE"] },
  {
    title: "Dropped files",
    about: "In the report beside a file in the folder `error`, or in `cryobridge status`.",
    prefixes: ["FILE"],
  },
  {
    title: "HL7",
    about: "What can't be read as HL7. The report names the message, the line or the field.",
    prefixes: ["HL7"],
    isWithHints: true,
  },
  {
    title: "MLLP",
    about: "Reported at the start, by `cryobridge hl7`, or of a result that could not be sent.",
    prefixes: ["MLLP"],
  },
  {
    title: "Results",
    about: "Why a result for the lab waits, or needs a person.",
    prefixes: ["DELIVERY", "RESULT"],
  },
  {
    title: "CSV",
    about:
      "What can't be read as CSV. The report names the line or the column. A damaged file is refused whole.",
    prefixes: ["CSV"],
    isWithHints: true,
  },
  {
    title: "Mapping",
    about: "What was read, but is not an order by the connector's profile.",
    prefixes: ["MAPPING"],
    isWithHints: true,
  },
  {
    title: "Orders",
    about: "Why an order waits for a person, or did not end as the lab wanted.",
    prefixes: ["ORDER", "SUBJECT", "CONTAINER", "SUBMIT", "REQUEST", "PROCEDURE", "CANCEL", "CONTROL"],
    isWithHints: true,
  },
  { title: "Storage service", about: "Failures of calls to the service.", prefixes: ["SERVICE"] },
  {
    title: "Ledger and queue",
    about: "The database that holds everything, and the queue beside it.",
    prefixes: ["LEDGER", "RESTORE", "QUEUE"],
  },
  { title: "Anything else", about: "Errors without a code of their own.", prefixes: ["UNCLASSIFIED"] },
];

const INTRODUCTION = `# Errors

Every failure that Cryobridge understands has a code, which never changes. A code stands with what to do about it in the report of a
file (\`NAME.error.txt\`), \`cryobridge orders show\`, \`cryobridge status\`, the console and what a command prints, also with
\`--json\`; alone in the log and in answers to the lab. Of HL7, CSV, mapping and orders this page says it too, in a second line, with
commands in short: \`orders discard\` stands for \`cryobridge orders discard ID --reason TEXT\`, and \`orders resolve\` links the request
that \`--request-id N\` names, on the external surface \`--procedure-id N\`. A changed profile or \`encoding\` takes
\`cryobridge reload\`.

- **transient**: nothing happened; Cryobridge tries again by itself, for as long as it takes.
- **permanent**, as every code is that does not say otherwise: a person has to change something.
- **ambiguous**: it may have happened; Cryobridge searches the service before it sends anything again.

This page is generated from \`src/core/failures/\`.
`;

/** The text of `docs/errors.md`. @throws RangeError for a code that belongs to no area. */
export function renderErrors(): string {
  const codes = Object.keys(FAILURES) as FailureCode[];
  const prefixes = new Set(AREAS.flatMap((area) => area.prefixes));
  const homeless = codes.filter((code) => !prefixes.has(prefixOf(code)));
  if (homeless.length > 0) throw new RangeError(`no area of docs/errors.md for ${homeless.join(", ")}`);
  const sections = AREAS.map(({ title, about, prefixes: own, isWithHints }) => {
    const entries = own.flatMap((prefix) =>
      codes
        .filter((code) => prefixOf(code) === prefix)
        .map((code) => (isWithHints ? `${renderEntry(code)}${renderHint(code)}` : renderEntry(code))),
    );
    return [`## ${title}`, about, entries.join("\n")].join("\n\n");
  });
  return `${[INTRODUCTION, ...sections].join("\n")}\n`
    .replace(/\n(## )/g, "\n\n$1")
    .replace(/\n{3,}/g, "\n\n");
}

function prefixOf(code: string): string {
  return code.split("_", 1)[0] ?? "";
}

function renderEntry(code: FailureCode): string {
  const { class: failureClass, meaning } = FAILURES[code];
  const mark = failureClass === "permanent" ? "" : ` (${failureClass})`;
  return `- **${code}**${mark}: ${meaning}`;
}

/** Of commands, what the introduction says once: which record, and why. */
const ARGUMENTS = / (?:ID|NUMBER|--reason TEXT|--request-id N)(?= |$)/g;

/** What to do, in a line of its own, without what the introduction says once; empty where nothing is to be done. */
function renderHint(code: FailureCode): string {
  const hint = FAILURES[code].hint
    .replaceAll(" (external surface: `--procedure-id N`)", "")
    .replace(/`cryobridge ([^`]*)`/g, (_, command: string) => `\`${command.replace(ARGUMENTS, "")}\``);
  return hint === "Nothing." ? "" : `\\\n  ${hint}`;
}
