import type { Command } from "commander";
import { formatId } from "../../ledger/ids.ts";
import { closeTask, findTask, listOpenTasks, type Task } from "../../ledger/operator/tasks.ts";
import { TASK_COLUMNS } from "../../operator/order-columns.ts";
import { type ActOptions, actOnEach, getAllNamed, printDone } from "../acting.ts";
import { pageOption, wholeNumber } from "../arguments.ts";
import type { ExitStatus } from "../exit-status.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge tasks …`. */
export function define(tasks: Command, cli: Cli): void {
  tasks
    .command("list", { isDefault: true })
    .description("List what is to be done, oldest first.")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addOption(pageOption("k", "--after"))
    .addOption(watchOption())
    .addHelpText("after", "\nExample:\n  cryobridge tasks list")
    .action(toAction(cli, watched(listTasks)));
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
  nextPage: ({ taskId }: Task) => `--after ${taskId}`,
};

async function listTasks(
  session: Session,
  site: KeptSite,
  { limit, after }: Watching & { readonly limit: number; readonly after?: number },
): Promise<undefined> {
  const { pool } = await site.open();
  printList(session, TASKS, await listOpenTasks(pool, limit + 1, after), limit);
}

/** Status 1 when one of them was done before. */
async function closeTasks(
  session: Session,
  words: readonly string[],
  { reason }: ActOptions,
): Promise<ExitStatus | undefined> {
  const done = await withLedger(session, async ({ pool }) => {
    const find = async (id: number) => ((await findTask(pool, id)) ? id : undefined);
    return actOnEach(session, await getAllNamed("k", words, find), {
      idOf: (id) => formatId("k", id),
      change: async (id) => {
        const isDone = await closeTask(pool, id, { actor: session.actor, reason });
        return [isDone, isDone ? "is done" : "was done before"];
      },
    });
  });
  return printDone(session, done);
}
