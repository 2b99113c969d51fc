import type { Command } from "commander";
import { oneOf } from "../arguments.ts";
import { createCommands } from "../commands.ts";
import { bashScript } from "../completion/bash.ts";
import { listPlaces } from "../completion/tree.ts";
import { zshScript } from "../completion/zsh.ts";
import { type Cli, type Session, toAction } from "../session.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript } as const;
const SHELLS = ["bash", "zsh"] as const;

/** `cryobridge completion`. */
export function define(command: Command, cli: Cli): void {
  const print = async (session: Session, shell: (typeof SHELLS)[number]): Promise<undefined> => {
    const script = SCRIPTS[shell](listPlaces(command.parent ?? command, await createCommands(cli)));
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
