import { FAILURES, type FailureCode } from "../../src/core/failures.ts";

interface Area {
  readonly title: string;
  readonly about: string;
  /** First words of its codes. */
  readonly prefixes: readonly string[];
}

const AREAS: readonly Area[] = [
  {
    title: "Configuration and command line",
    about: "Told by a command or at the start, before anything is done.",
    prefixes: ["CONFIG", "CLI"],
  },
  {
    title: "Console",
    about: "Told at the start, or by the console's own pages.",
    prefixes: ["CONSOLE"],
  },
  {
    title: "Dropped files",
    about: "Told in the report beside a file in the folder `error`, or as trouble of a connector.",
    prefixes: ["FILE"],
  },
  {
    title: "HL7",
    about: "What could not be read as HL7. The report names the message, the line or the field.",
    prefixes: ["HL7"],
  },
  {
    title: "MLLP",
    about: "Told at the start, by `cryobridge hl7`, or of a result that could not be sent.",
    prefixes: ["MLLP"],
  },
  {
    title: "Results",
    about: "Why a result for the lab waits, or needs a person.",
    prefixes: ["DELIVERY", "RESULT"],
  },
  {
    title: "CSV",
    about: "What could not be read as CSV. The report names the line or the column.",
    prefixes: ["CSV"],
  },
  {
    title: "Mapping",
    about: "What was read, but is no order by the connector's profile.",
    prefixes: ["MAPPING"],
  },
  {
    title: "Orders",
    about: "Why an order waits for a person, or ended otherwise than the lab hoped.",
    prefixes: ["ORDER", "SUBJECT", "CONTAINER", "SUBMIT", "REQUEST", "PROCEDURE", "CANCEL", "CONTROL"],
  },
  {
    title: "Storage service",
    about: "What calls to the service met with.",
    prefixes: ["SERVICE"],
  },
  {
    title: "Ledger and queue",
    about: "The database that everything is kept in, and the queue beside it.",
    prefixes: ["LEDGER", "RESTORE", "QUEUE"],
  },
  {
    title: "Anything else",
    about: "What nobody foresaw.",
    prefixes: ["UNCLASSIFIED"],
  },
];

const INTRODUCTION = `# Errors

Every failure that Cryobridge understands has a code. You meet it in a report about a file (\`NAME.error.txt\`), in the
answer to the lab, in \`cryobridge orders show\`, in the log, and in the \`--json\` output of a command. Codes are never
renamed.

The class says what Cryobridge itself does about it:

- **transient**: nothing happened there, so it tries again by itself, for as long as it takes.
- **permanent**: it would be refused every time, so a person has to change something.
- **ambiguous**: it may have happened, so Cryobridge looks at the service before it sends anything again.

This page is made from \`src/core/failures.ts\`, and a test holds the two equal.
`;

/** The text of `docs/errors.md`. @throws RangeError for a code that belongs to no area. */
export function renderErrors(): string {
  const codes = Object.keys(FAILURES) as FailureCode[];
  const prefixes = new Set(AREAS.flatMap((area) => area.prefixes));
  const homeless = codes.filter((code) => !prefixes.has(prefixOf(code)));
  if (homeless.length > 0) throw new RangeError(`no area of docs/errors.md for ${homeless.join(", ")}`);
  const sections = AREAS.map(({ title, about, prefixes: own }) => {
    const entries = own.flatMap((prefix) =>
      codes.filter((code) => prefixOf(code) === prefix).map(renderEntry),
    );
    return [`## ${title}`, about, ...entries].join("\n\n");
  });
  return `${[INTRODUCTION, ...sections].join("\n")}\n`
    .replace(/\n(## )/g, "\n\n$1")
    .replace(/\n{3,}/g, "\n\n");
}

function prefixOf(code: string): string {
  return code.split("_", 1)[0] ?? "";
}

function renderEntry(code: FailureCode): string {
  const { class: failureClass, meaning, hint } = FAILURES[code];
  return `### ${code}\n\n*${failureClass}.* ${meaning}\n\nWhat to do: ${hint}`;
}
