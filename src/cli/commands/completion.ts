import type { Command } from "commander";
import { oneOf } from "../arguments.ts";
import { createCommands } from "../commands.ts";
import { bashScript } from "../completion/bash.ts";
import { listPlaces } from "../completion/tree.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** Has zsh take completions that are written for bash. */
const FOR_ZSH = "autoload -Uz compinit bashcompinit && compinit && bashcompinit\n";
const SHELLS = ["bash", "zsh"] as const;

/** `cryobridge completion`. */
export function define(command: Command, cli: Cli): void {
  const print = async (session: Session, shell: (typeof SHELLS)[number]): Promise<undefined> => {
    const ofBash = bashScript(listPlaces(command.parent ?? command, await createCommands(cli)));
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
