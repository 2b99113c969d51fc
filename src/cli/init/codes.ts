import { Failure } from "../../core/failures.ts";
import { builtinProfiles } from "../../mapping/profile/builtin.ts";
import { ROW_OPERATIONS, type RowOperation, TABLE_OPERATIONS } from "../../mapping/profile/operations.ts";
import type { ProfileDefinition, ValueDefinition } from "../../mapping/profile/schema.ts";
import { type Draft, type Given, isId } from "./given.ts";
import { operationOf, operationOfCode } from "./headings.ts";
import { shownPlace } from "./hl7-sample.ts";
import type { Questions } from "./questions.ts";
import { tryProfile } from "./trial.ts";

/** A profile that knows the sample's codes, and the facilities that it names. */
interface Completed {
  readonly definition: ProfileDefinition;
  readonly facilities: ReadonlyMap<string, number>;
  /** The lab's words and what they were taken for. */
  readonly operations: ReadonlyMap<string, RowOperation>;
}

/**
 * Gives the sample's operation words and facility codes their meaning. The mapper says which it doesn't know; what is neither
 * given nor a plain word is asked for.
 *
 * @param sample undefined where there is none
 */
export async function completeCodes(
  draft: Draft,
  sample: Buffer | undefined,
  given: Given,
  questions: Questions,
): Promise<Completed> {
  const facilities = new Map(given.facilities);
  let { definition } = draft;
  if (draft.lacksFacility) definition = await withOneFacility(definition, facilities, questions);
  const operations = new Map<string, RowOperation>();
  const trial = sample && (await tryProfile(definition, sample, facilities));
  const { codes } = draft;
  const words = (codes?.operations ?? []).filter((word) => operationOf(word) === undefined);
  for (const code of atMost("operation", MOST_OPERATIONS, trial?.unknownOperations, words)) {
    const operation = await operationOfWord(code, draft, given, questions);
    if (operation !== undefined) operations.set(code, operation);
  }
  // Words that the sample happens to lack.
  for (const [word, operation] of given.operations)
    if (givenFor(word, operations) === undefined) operations.set(word, operation);
  if (operations.size > 0)
    definition = { ...definition, operation: withTable(definition.operation, operations) };
  const names = atMost("facility", MOST_FACILITIES, trial?.unknownFacilities, codes?.facilities);
  for (const code of names) {
    if (facilities.has(code)) continue;
    const where = definition.facility ?? builtinProfiles["builtin/hl7-orders"]?.facility ?? "";
    const id = await askId(code, questions, ` (${shownPlace(where)})`);
    if (id !== undefined) facilities.set(code, id);
  }
  // A configuration has at least one; that of a sample without a place for it was asked for above.
  if (facilities.size === 0 && names.size === 0 && !draft.lacksFacility)
    await askFacility(facilities, questions);
  return { definition, facilities, operations };
}

/** What has more different values is another column, of patients perhaps. */
const MOST_OPERATIONS = 20;
const MOST_FACILITIES = 50;

function atMost(
  place: "operation" | "facility",
  most: number,
  ...lists: readonly (readonly string[] | undefined)[]
): ReadonlySet<string> {
  const codes = new Set(lists.flatMap((list) => list ?? []));
  if (codes.size <= most) return codes;
  throw new Failure(
    "CLI_USAGE",
    `the place of the ${place} holds ${codes.size} different values, so it is another: say where it stands with --place ${place}=PLACE`,
  );
}

async function operationOfWord(
  code: string,
  { definition, textOfOperation }: Draft,
  { operations }: Given,
  questions: Questions,
): Promise<RowOperation | undefined> {
  const known = givenFor(code, operations);
  if (known !== undefined) return known;
  const text = textOfOperation?.(code);
  const guess = operationOfCode(code, text);
  const isHl7 = definition.extends === "builtin/hl7-orders";
  const names = isHl7 ? TABLE_OPERATIONS : ROW_OPERATIONS;
  const answer = await questions.ask({
    text: `What does the operation ${JSON.stringify(code)}${text ? ` (${text})` : ""} mean? ${names.join(", ")}:`,
    flag: `--operation ${JSON.stringify(code)}=STORE, or =${names.slice(1).join(", =")}`,
    usual: guess,
    trouble: (name) => (asName(name, names) ? undefined : `expected one of ${names.join(", ")}`),
  });
  return answer === undefined ? undefined : asName(answer, names);
}

/** The tables of a profile leave capitals and small letters alone, and so do these words. */
function givenFor(word: string, operations: ReadonlyMap<string, RowOperation>): RowOperation | undefined {
  return [...operations].find(([each]) => each.toUpperCase() === word.toUpperCase())?.[1];
}

function asName(text: string, names: readonly RowOperation[]): RowOperation | undefined {
  return names.find((name) => name === text.trim().toUpperCase());
}

function withTable(
  value: ValueDefinition | undefined,
  operations: ReadonlyMap<string, RowOperation>,
): ValueDefinition {
  const table = Object.fromEntries(operations);
  if (typeof value === "object" && !Array.isArray(value)) return { ...value, table };
  return value === undefined ? { table } : { from: value, table };
}

async function withOneFacility(
  definition: ProfileDefinition,
  facilities: Map<string, number>,
  questions: Questions,
): Promise<ProfileDefinition> {
  if (facilities.size === 0) await askFacility(facilities, questions);
  const names = [...facilities.keys()];
  const [only] = names;
  const name =
    names.length > 1
      ? await questions.ask({
          text: `The sample doesn't say where. Which facility are its orders for? ${names.join(", ")}:`,
          flag: "--place facility=PLACE, or one --facility alone",
          trouble: (answer) => (facilities.has(answer) ? undefined : `expected one of ${names.join(", ")}`),
        })
      : only;
  return { ...definition, facility: { value: name ?? "NORTH" } };
}

async function askFacility(facilities: Map<string, number>, questions: Questions): Promise<void> {
  const name = await questions.ask({
    text: "The lab's name for the facility, as in its messages:",
    flag: "--facility NAME=ID",
    usual: questions.isAsking ? "NORTH" : undefined,
  });
  if (name === undefined) return;
  const id = await askId(name, questions);
  if (id !== undefined) facilities.set(name, id);
}

async function askId(name: string, questions: Questions, where = ""): Promise<number | undefined> {
  const answer = await questions.ask({
    text: `Which id does the service have for facility ${JSON.stringify(name)}${where}? A whole number:`,
    flag: `--facility ${/\s/.test(name) ? JSON.stringify(name) : name}=ID`,
    trouble: (text) =>
      isId(text) ? undefined : "expected a whole number above 0, from the service's administrator",
  });
  return answer === undefined ? undefined : Number(answer);
}
