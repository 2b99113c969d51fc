import type { Argument, Command, Option } from "commander";
import { isWordParser } from "../arguments.ts";

/** What may stand in a place of the command line; `any` is what a shell can't know. */
export type Value =
  | { readonly kind: "any" | "file" | "folder" }
  | { readonly kind: "word" | "list"; readonly words: readonly string[] };

/** An option of a command. */
interface OptionWords {
  /** As they are typed, such as `-c` and `--config`. */
  readonly flags: readonly string[];
  /** Undefined for an option that stands alone. */
  readonly value: Value | undefined;
  /** Whether it may also stand alone. */
  readonly isValueOptional: boolean;
}

/** A command, or the program itself, with all that may follow its name. */
export interface Place {
  /** The words that lead to it, such as `orders list`; empty for the program. */
  readonly words: string;
  /** The names of those below it. */
  readonly commands: readonly string[];
  /** Its own, those of the program, and those of the command that it runs when none is named. */
  readonly options: readonly OptionWords[];
  readonly value: Value | undefined;
}

/**
 * All places of a command line, made from commander's own tree, so that completion knows what the program knows.
 *
 * @param program whose options every command takes
 * @param families the commands of the first level, whole
 */
export function listPlaces(program: Command, families: readonly Command[]): Place[] {
  const shared = [...program.options.filter(({ hidden }) => !hidden).map(toOption), HELP];
  const below = (command: Command, words: string): Place[] => [
    {
      words,
      commands: command.commands.map((child) => child.name()),
      options: [...command.options, ...(defaultOf(command)?.options ?? [])].map(toOption).concat(shared),
      value: command.registeredArguments.map(toValue).find(({ kind }) => kind !== "any"),
    },
    ...command.commands.flatMap((child) => below(child, `${words} ${child.name()}`)),
  ];
  const root = {
    words: "",
    commands: families.map((family) => family.name()),
    options: shared,
    value: undefined,
  };
  return [root, ...families.flatMap((family) => below(family, family.name()))];
}

const HELP: OptionWords = { flags: ["-h", "--help"], value: undefined, isValueOptional: false };

/** The flags that take the next word with them, wherever they stand. */
export function listValuedFlags(places: readonly Place[]): string[] {
  const flags = places.flatMap(({ options }) =>
    options.flatMap((option) => (option.value && !option.isValueOptional ? option.flags : [])),
  );
  return [...new Set(flags)];
}

/** The command that runs when none of `command` is named; commander keeps its name to itself. */
function defaultOf(command: Command): Command | undefined {
  const { _defaultCommandName: name } = command as unknown as {
    readonly _defaultCommandName?: string | null;
  };
  return command.commands.find((child) => child.name() === name);
}

function toOption(option: Option): OptionWords {
  const { short, long, required, optional } = option;
  return {
    flags: [short, long].filter((flag) => flag !== undefined),
    value: required || optional ? toValue(option) : undefined,
    isValueOptional: optional,
  };
}

/** The names that files and folders have in usages: `<file>`, `<folder>`. Where a file is offered, a folder is, too. */
const FILES = new Set(["file", "a", "b", "old"]);
const FOLDERS = new Set(["folder", "dir"]);

function toValue(given: Option | Argument): Value {
  const { argChoices, parseArg } = given;
  if (argChoices !== undefined) return { kind: "word", words: argChoices };
  if (isWordParser(parseArg)) return { kind: parseArg.isList ? "list" : "word", words: parseArg.words };
  const name = "flags" in given ? (/[<[]([^>\]]+)[>\]]/.exec(given.flags)?.[1] ?? "") : given.name();
  if (FILES.has(name)) return { kind: "file" };
  return { kind: FOLDERS.has(name) ? "folder" : "any" };
}
