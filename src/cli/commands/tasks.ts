import type { Command } from "commander";
import { TASK_LIST } from "../../operator/lists/tasks.ts";
import { TASKS } from "../../operator/things/tasks.ts";
import { defineList } from "../list-command.ts";
import { defineAct } from "../record-commands.ts";
import type { Cli } from "../session.ts";

/** `cryobridge tasks …`. */
export function define(tasks: Command, cli: Cli): void {
  defineList(tasks, cli, TASK_LIST, { isDefault: true, examples: ["cryobridge tasks list"] });
  defineAct(tasks, cli, TASKS, TASKS.acts.done, { argument: "k…" });
}
