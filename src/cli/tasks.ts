import { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge tasks …`. */
export function tasksCommand(cli: Cli): Command {
  const tasks = new Command("tasks").description("What a person has to see to, and what was seen to.");
  tasks
    .command("list", { isDefault: true })
    .description("List what is to be done, oldest first.")
    .option("--limit <n>", "at most so many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge tasks list")
    .action(toAction(cli, async () => (await import("./tasks-run.ts")).listTasksCommand));
  tasks
    .command("done")
    .description("Write down that a task is done; your name is kept with it.")
    .argument("<id...>", "k…")
    .option("--reason <text>", "what came of it")
    .addHelpText(
      "after",
      '\nExample:\n  cryobridge tasks done k3 --reason "the facility rejected the request"',
    )
    .action(toAction(cli, async () => (await import("./tasks-run.ts")).closeTasksCommand));
  return tasks;
}
