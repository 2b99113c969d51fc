import { builtinProfiles } from "./builtin.ts";
import { controlOfRow } from "./message-type.ts";
import { isOperation, ROW_OPERATIONS, TABLE_OPERATIONS } from "./operations.ts";
import type { OrderRules } from "./profile.ts";
import { type ProfileDefinition, VALUES, type ValueDefinition } from "./schema.ts";
import type { Complain } from "./settings.ts";
import { type CompileSettings, compileValue, toValueObject, type ValueRule } from "./value.ts";

type RuleSettings<P> = Pick<
  CompileSettings<P>,
  "parsePlace" | "spotOf" | "dateFormats" | "areAllPartsNeeded"
>;

/** The rules for every value of an order; what is missing or wrong goes to `complain`. */
export function compileRules<P>(
  whole: ProfileDefinition,
  settings: RuleSettings<P>,
  complain: Complain,
): OrderRules<P> {
  checkOperation(whole.operation, whole.format === "csv", complain);
  checkContainers(whole, complain);
  const rules: Record<string, ValueRule<P> | Record<string, ValueRule<P>>> = {};
  for (const [name, { mayQuote = false, ...traits }] of VALUES) {
    const definition = definitionOf(whole, name);
    if (definition === undefined && traits.isNeeded)
      complain(name, "is missing; the built-in profiles bring it");
    const rule: ValueRule<P> =
      definition === undefined
        ? ABSENT
        : compileValue(definition, {
            ...{ ...settings, ...traits, mayQuote, name },
            shipped: name === "operation" ? shippedOperations(whole.format) : undefined,
            complain: (trouble) => complain(name, trouble),
          });
    const [key = "", within] = name.split(".");
    rules[key] = within === undefined ? rule : { ...rules[key], [within]: rule };
  }
  return rules as unknown as OrderRules<P>;
}

/** A value as a profile writes it, by its name. */
function definitionOf(whole: ProfileDefinition, name: string): ValueDefinition | undefined {
  return name
    .split(".")
    .reduce<unknown>(
      (section, key) => (section as Readonly<Record<string, unknown>> | undefined)?.[key],
      whole,
    ) as ValueDefinition | undefined;
}

/** The codes of the built-in profiles; no other table of them has any. */
function shippedOperations(format: ProfileDefinition["format"]): Readonly<Record<string, string | null>> {
  const shipped = builtinProfiles[`builtin/${format}-orders`]?.operation;
  return shipped === undefined ? {} : (toValueObject(shipped).table ?? {});
}

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
    if (operation === null || isOperation(operation) || (mayControl && controlOfRow(operation))) continue;
    const known = mayControl ? ROW_OPERATIONS : TABLE_OPERATIONS;
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
