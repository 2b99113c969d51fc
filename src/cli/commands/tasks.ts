import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { closeTask, findTask, listOpenTasks } from "../../ledger/operator/tasks.ts";
import { type Done, printDone } from "../acting.ts";
import { wholeNumber } from "../arguments.ts";
import type { ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { TASK_COLUMNS } from "../output/order-columns.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge tasks …`. */
export function define(tasks: Command, cli: Cli): void {
  tasks
    .command("list", { isDefault: true })
    .description("List what is to be done, oldest first.")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge tasks list")
    .action(toAction(cli, listTasks));
  tasks
    .command("done")
    .description("Write down that a task is done; your name is kept with it.")
    .argument("<id...>", "k…")
    .option("--reason <text>", "what came of it")
    .addHelpText(
      "after",
      '\nExample:\n  cryobridge tasks done k3 --reason "the facility rejected the request"',
    )
    .action(toAction(cli, closeTasks));
}

const TASKS = {
  key: "tasks",
  columns: TASK_COLUMNS,
  nothing: "No task is open. What else needs a person: cryobridge status",
};

async function listTasks(session: Session, command: Command): Promise<undefined> {
  const { limit } = command.opts<{ limit: number }>();
  const tasks = await withLedger(session, readConfig(session), ({ pool }) => listOpenTasks(pool, limit + 1));
  printList(session, TASKS, tasks, limit);
}

/** Status 1 when one of them was done before. */
async function closeTasks(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { reason } = command.opts<{ reason?: string }>();
  const ids = words.map((word) => {
    const id = parseId("k", word);
    if (id === undefined) throw new Failure("CLI_USAGE", `${word} is no task; expected an id such as k3`);
    return id;
  });
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    for (const id of ids) {
      if (!(await findTask(pool, id))) throw new Failure("CLI_NOT_FOUND", `no task k${id}; nothing was done`);
    }
    const results: Done[] = [];
    for (const id of new Set(ids)) {
      const isDone = await closeTask(pool, id, { actor: session.actor, reason });
      results.push({ id: `k${id}`, isDone, text: isDone ? `k${id} is done` : `k${id} was done before` });
    }
    return results;
  });
  return printDone(session, done);
}
