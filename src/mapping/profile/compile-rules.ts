import type { Spot } from "../../core/place.ts";
import { builtinProfiles } from "./builtin.ts";
import { CONTROL_OPERATIONS, isControlOperation, isOperation, TABLE_OPERATIONS } from "./message-type.ts";
import type { GuardedKind } from "./misread.ts";
import type { OrderRules, ProfileProblem } from "./profile.ts";
import type { ProfileDefinition, ValueDefinition } from "./schema.ts";
import { compileValue, toValueObject, type ValueRule } from "./value.ts";

interface RuleSettings<P> {
  readonly parsePlace: (text: string) => P;
  readonly spotOf: (path: P) => Spot;
  readonly dateFormats: readonly string[] | undefined;
  /** See `CompileSettings`. */
  readonly areAllPartsNeeded?: boolean | undefined;
}

/** The rules for every value of an order; what is missing or wrong goes to `complain`. */
export function compileRules<P>(
  whole: ProfileDefinition,
  settings: RuleSettings<P>,
  complain: Complain,
): OrderRules<P> {
  const compile = (place: string, definition: ValueDefinition, mayQuote = false): ValueRule<P> =>
    compileValue(definition, {
      ...settings,
      mayQuote,
      name: place,
      kind: KINDS[place],
      maySplit: place.startsWith("containers."),
      mayLack: MAY_LACK.has(place),
      shipped: place === "operation" ? shippedOperations(whole.format) : undefined,
      complain: (trouble) => complain(place, trouble),
    });
  const require = (
    place: string,
    definition: ValueDefinition | undefined,
    mayQuote = false,
  ): ValueRule<P> => {
    if (definition !== undefined) return compile(place, definition, mayQuote);
    complain(place, "is missing; the built-in profiles bring it");
    return ABSENT;
  };
  const optional = (place: string, definition: ValueDefinition | undefined): ValueRule<P> =>
    definition === undefined ? ABSENT : compile(place, definition);
  const { subject, containers } = whole;
  checkOperation(whole.operation, whole.format === "csv", complain);
  checkContainers(whole, complain);
  return {
    operation: require("operation", whole.operation, true),
    facility: require("facility", whole.facility, true),
    placerOrderNumber: require("placerOrderNumber", whole.placerOrderNumber, true),
    subject: {
      code: require("subject.code", subject?.code),
      priorCode: optional("subject.priorCode", subject?.priorCode),
      firstName: optional("subject.firstName", subject?.firstName),
      lastName: optional("subject.lastName", subject?.lastName),
      dateOfBirth: optional("subject.dateOfBirth", subject?.dateOfBirth),
    },
    label: require("containers.label", containers?.label),
    description: optional("containers.description", containers?.description),
  };
}

/** The codes of the built-in profiles; no other table of them has any. */
function shippedOperations(format: ProfileDefinition["format"]): Readonly<Record<string, string | null>> {
  const shipped = builtinProfiles[`builtin/${format}-orders`]?.operation;
  return shipped === undefined ? {} : (toValueObject(shipped).table ?? {});
}

const KINDS: Readonly<Partial<Record<string, GuardedKind>>> = {
  placerOrderNumber: "code",
  "subject.code": "code",
  "subject.priorCode": "code",
  "subject.firstName": "name",
  "subject.lastName": "name",
  "containers.label": "code",
};

/** Values that an order to store or retrieve can do without. */
const MAY_LACK: ReadonlySet<string> = new Set([
  "subject.firstName",
  "subject.lastName",
  "subject.dateOfBirth",
  "containers.description",
]);

/** A rule that finds nothing. */
const ABSENT: ValueRule<never> = {
  sources: [],
  places: {},
  pipeline: [],
  fallback: undefined,
  mustAgree: false,
};

/** An operation is one of a few words; a table or constant that gives another could never be right. */
function checkOperation(
  definition: ValueDefinition | undefined,
  mayControl: boolean,
  complain: Complain,
): void {
  if (definition === undefined) return;
  const { value, table, default: fallback } = toValueObject(definition);
  const given = [
    ...Object.entries(table ?? {}),
    ...(table === undefined && value !== undefined ? [["", value]] : []),
  ];
  if (fallback !== undefined) given.push(["", fallback]);
  for (const [code, operation = ""] of given) {
    if (operation === null || isOperation(operation) || (mayControl && isControlOperation(operation)))
      continue;
    const known = [...TABLE_OPERATIONS, ...(mayControl ? CONTROL_OPERATIONS : [])];
    const words = `${known.slice(0, -1).join(", ")} or ${known.at(-1)}`;
    complain(code ? `operation.table.${code}` : "operation", `${operation}: expected ${words}`);
  }
}

/** Several descriptions in their places belong to the labels in theirs, one by one. */
function checkContainers({ format, containers }: ProfileDefinition, complain: Complain): void {
  const { from: labels, every, split } = toValueObject(containers?.label ?? []);
  const description = toValueObject(containers?.description ?? []);
  const isSame = every === true && [description.from].flat().length === [labels].flat().length;
  if (description.every === true && !isSame) {
    complain(
      "containers.description",
      "every needs containers.label with every, and as many places as it has",
    );
  }
  if (format === "csv" && [split, description.split].flat().includes("repetitions")) {
    complain("containers", "split: repetitions is for HL7 profiles; a cell has separators or lines");
  }
}

/** Receives a mistake: its place inside the profile and what is wrong. */
export type Complain = (place: string, message: string) => void;

/** A mistake of a profile. */
export function profileProblem(place: string, message: string): ProfileProblem {
  return { place, message };
}
