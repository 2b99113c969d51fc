import { FAILURES, type FailureCode } from "../../src/core/failures.ts";

interface Area {
  readonly title: string;
  /** First words of its codes. */
  readonly prefixes: readonly string[];
}

const AREAS: readonly Area[] = [
  { title: "Console", prefixes: ["CONSOLE"] },
  { title: "Dropped files", prefixes: ["FILE"] },
  { title: "HL7", prefixes: ["HL7"] },
  { title: "MLLP", prefixes: ["MLLP"] },
  { title: "Results", prefixes: ["DELIVERY", "RESULT"] },
  { title: "CSV", prefixes: ["CSV"] },
  { title: "Mapping", prefixes: ["MAPPING"] },
  {
    title: "Orders",
    prefixes: ["ORDER", "SUBJECT", "CONTAINER", "SUBMIT", "REQUEST", "PROCEDURE", "CANCEL", "CONTROL"],
  },
  { title: "Storage service", prefixes: ["SERVICE"] },
  { title: "Ledger and queue", prefixes: ["LEDGER", "RESTORE", "QUEUE"] },
  { title: "Anything else", prefixes: ["UNCLASSIFIED"] },
];

/** First words of codes that nobody meets without their hint beside them. */
export const NEVER_ALONE: readonly string[] = ["CONFIG", "CLI"];

const INTRODUCTION = `# Errors

Each failure has a code, which never changes. What to do stands beside it in \`cryobridge status\`, \`orders show\`, \`messages show\`,
the console, the report of a file (\`NAME.error.txt\`) and what a command prints. The log has the code alone, an answer to the lab
also where and what was expected. \`CLI_…\` and \`CONFIG_…\` always come with their hint, and are not here.

- **transient**: nothing happened; Cryobridge tries again by itself, for as long as it takes.
- **permanent**, as every code is that does not say otherwise: a person has to change something.
- **ambiguous**: it may have happened; Cryobridge searches the service before it sends anything again.

Generated from \`src/core/failures/\`.
`;

/** The text of `docs/errors.md`. @throws RangeError for a code that belongs to no area. */
export function renderErrors(): string {
  const codes = (Object.keys(FAILURES) as FailureCode[]).filter(
    (code) => !NEVER_ALONE.includes(prefixOf(code)),
  );
  const prefixes = new Set(AREAS.flatMap((area) => area.prefixes));
  const homeless = codes.filter((code) => !prefixes.has(prefixOf(code)));
  if (homeless.length > 0) throw new RangeError(`no area of docs/errors.md for ${homeless.join(", ")}`);
  const sections = AREAS.map(({ title, prefixes: own }) => {
    const entries = own.flatMap((prefix) =>
      codes.filter((code) => prefixOf(code) === prefix).map(renderEntry),
    );
    return [`## ${title}`, entries.join("\n")].join("\n\n");
  });
  return `${[INTRODUCTION, ...sections].join("\n")}\n`
    .replace(/\n(## )/g, "\n\n$1")
    .replace(/\n{3,}/g, "\n\n");
}

/** The first word of a code. */
export function prefixOf(code: string): string {
  return code.split("_", 1)[0] ?? "";
}

function renderEntry(code: FailureCode): string {
  const { class: failureClass, meaning } = FAILURES[code];
  const mark = failureClass === "permanent" ? "" : ` (${failureClass})`;
  return `- **${code}**${mark}: ${meaning}`;
}
