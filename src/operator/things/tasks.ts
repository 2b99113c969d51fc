import { numberOfId } from "../../ledger/ids.ts";
import { closeTask, findTask, type Task } from "../../ledger/operator/tasks.ts";
import { onEach, type Thing } from "../thing.ts";

/** Something that a person has to do. */
export const TASKS = {
  ...{ kind: "k", noun: "task", path: "/tasks" },
  find: findTask,
  numberOf,
  acts: {
    done: {
      ...{ command: "tasks done", button: "Done", reason: "usual", reasonHelp: "what came of it" },
      help: "Write down that a task is done; your name is kept with it.",
      example: 'cryobridge tasks done k3 --reason "the facility rejected the request"',
      suits: ({ closedAt }) => closedAt === undefined,
      start: onEach(async ({ pool }, task, by) => {
        const isDone = await closeTask(pool, numberOf(task), by);
        return [isDone, isDone ? "is done" : "was done before"];
      }),
    },
  },
} as const satisfies Thing<Task>;

function numberOf({ taskId }: Task): number {
  return numberOfId("k", taskId);
}
