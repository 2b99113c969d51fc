import type { Command } from "commander";
import { Failure } from "../core/failures.ts";
import { parseId } from "../ledger/ids.ts";
import { closeTask, findTask, listOpenTasks, type Task } from "../ledger/tasks.ts";
import { readConfig, withLedger } from "./configuration.ts";
import type { ExitStatus } from "./exit-status.ts";
import { noteMore } from "./more-note.ts";
import { numberJson, showNumber } from "./order-number.ts";
import { type Done, tellDone } from "./orders-change.ts";
import type { Session } from "./session.ts";
import { renderTable } from "./table.ts";
import { relativeTime } from "./times.ts";

/** `tasks list`. */
export async function listTasksCommand(session: Session, command: Command): Promise<undefined> {
  const { limit } = command.opts<{ limit: number }>();
  const config = readConfig(session);
  const found = await withLedger(session, config, ({ pool }) => listOpenTasks(pool, limit + 1));
  const tasks = found.slice(0, limit);
  if (session.isJson) {
    session.json({ tasks: tasks.map(taskJson), hasMore: found.length > limit });
    return;
  }
  if (tasks.length === 0) session.line("No task is open. What else needs a person: cryobridge status");
  else for (const line of taskLines(tasks, session)) session.line(line);
  if (found.length > limit) noteMore(session, limit);
}

/** `tasks done`: status 1 when one of them was done before. */
export async function closeTasksCommand(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { reason } = command.opts<{ reason?: string }>();
  const ids = words.map((word) => {
    const id = parseId("k", word);
    if (id === undefined) throw new Failure("CLI_USAGE", `${word} is no task; expected an id such as k3`);
    return id;
  });
  const config = readConfig(session);
  const done = await withLedger(session, config, async ({ pool }) => {
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
  return tellDone(session, done);
}

/** A task with stable keys. */
export function taskJson(task: Task) {
  return {
    taskId: task.taskId,
    orderId: task.orderId ?? null,
    messageId: task.messageId ?? null,
    deliveryId: task.deliveryId ?? null,
    file: task.file ?? null,
    ...numberJson(task),
    kind: task.kind,
    text: task.text,
    openedAt: task.openedAt.toISOString(),
    closedAt: task.closedAt?.toISOString() ?? null,
    closedBy: task.closedBy ?? null,
  };
}

/** The lines of a table of tasks. */
export function taskLines(tasks: readonly Task[], session: Session): string[] {
  const now = session.clock.now();
  return renderTable(
    [
      { title: "id" },
      { title: "about" },
      { title: "order number", isFlexible: true },
      { title: "since" },
      { title: "what", isFlexible: true },
    ],
    tasks.map((task) => [
      task.taskId,
      task.orderId ?? task.messageId ?? task.deliveryId ?? task.file?.fileId ?? "",
      showNumber(task),
      task.closedBy === undefined ? relativeTime(task.openedAt, now) : `done by ${task.closedBy}`,
      task.file === undefined
        ? task.text
        : `${task.file.path} of connector ${task.file.connector}: ${task.text}`,
    ]),
    session.width,
  );
}
