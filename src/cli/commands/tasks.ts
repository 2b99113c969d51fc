import type { Command } from "commander";
import { formatId } from "../../ledger/ids.ts";
import { closeTask, findTask } from "../../ledger/operator/tasks.ts";
import { TASK_LIST } from "../../operator/lists/tasks.ts";
import { type ActOptions, actOnEach, getAllNamed, printDone } from "../acting.ts";
import type { ExitStatus } from "../exit-status.ts";
import { withLedger } from "../open.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge tasks …`. */
export function define(tasks: Command, cli: Cli): void {
  defineList(tasks, cli, TASK_LIST, { isDefault: true, examples: ["cryobridge tasks list"] });
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
