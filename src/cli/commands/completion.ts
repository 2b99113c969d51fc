import type { Argument, Command, Option } from "commander";
import { oneOf, wordsFor } from "../arguments.ts";
import { createCommands } from "../commands.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** Has zsh take completions that are written for bash. */
const FOR_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n";
const SHELLS = ["bash", "zsh"] as const;

/** `cryobridge completion`. */
export function define(command: Command, cli: Cli): void {
  const print = async (session: Session, shell: (typeof SHELLS)[number]): Promise<undefined> => {
    const ofBash = bashScript(command.parent ?? command, await createCommands(cli));
    const script = shell === "zsh" ? `${FOR_ZSH}${ofBash}` : ofBash;
    session.result({ shell, script }, [script.trimEnd()]);
  };
  command
    .argument("<shell>", SHELLS.join(", "), oneOf(SHELLS))
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge completion bash\n  source <(cryobridge completion bash)   # in ~/.bashrc; zsh likewise in ~/.zshrc",
    )
    .action(toAction(cli, print));
}

/** A command, or the program itself, with what may follow its name. */
interface Place {
  /** The words that lead to it, each with a blank before it; empty for the program. */
  readonly words: string;
  /** The names of those below it, or what its argument may be. */
  readonly names: readonly string[];
  readonly options: readonly Option[];
}

/** What commander knows, as a script for bash of version 3.2 or newer, or zsh by its `bashcompinit`. Anything else is a file. */
function bashScript(program: Command, families: readonly Command[]): string {
  const below = (command: Command, before: string): Place[] => {
    const words = `${before} ${command.name()}`;
    const options = [...command.options, ...(defaultOf(command)?.options ?? []), ...program.options];
    const names = [
      command.commands.map((child) => child.name()),
      command.registeredArguments.flatMap(wordsOf),
    ];
    return [
      { words, names: names.flat(), options },
      ...command.commands.flatMap((child) => below(child, words)),
    ];
  };
  const root = { words: "", names: families.map((each) => each.name()), options: program.options };
  const places = [root, ...families.flatMap((family) => below(family, ""))];
  // Of an option's value the names of commands say nothing: where no words are known, the shell offers files.
  const values = places.flatMap(({ words, options }) =>
    options
      .filter(({ required }) => required)
      .map((option) => ({
        flags: [option.short, option.long].flatMap((flag) => (flag ? [`"${words} ${flag}"`] : [])).join("|"),
        names: wordsOf(option).join(" "),
      })),
  );
  return `# Completion of cryobridge for bash, printed by: cryobridge completion bash
_cryobridge() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" place="" names="" flags="" word before=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$place $before" in
      ${values.map(({ flags }) => flags).join("|")}) before="" && continue ;;
    esac
    before="$word"
    case "$place $word" in
      ${places.flatMap(({ words }) => (words === "" ? [] : [`"${words}"`])).join("|")}) place="$place $word" ;;
    esac
  done
  case "$place" in
${places.map(({ words, names, options }) => `    "${words}") names="${names.join(" ")}" flags="${flagsOf(options)}" ;;`).join("\n")}
  esac
  case "$place \${COMP_WORDS[COMP_CWORD-1]}" in
${values.map(({ flags, names }) => `    ${flags}) names="${names}" ;;`).join("\n")}
  esac
  [[ "$cur" == -* ]] && names="$flags"
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
}
complete -o default -F _cryobridge cryobridge
`;
}

/** The command that runs when none of those below is named; commander keeps its name to itself. */
function defaultOf(command: Command): Command | undefined {
  const { _defaultCommandName: name } = command as unknown as {
    readonly _defaultCommandName?: string | null;
  };
  return command.commands.find((child) => child.name() === name);
}

function flagsOf(options: readonly Option[]): string {
  return [...options.map(({ long }) => long), "--help"].join(" ");
}

function wordsOf({ argChoices, parseArg }: Option | Argument): readonly string[] {
  return argChoices ?? wordsFor(parseArg);
}
