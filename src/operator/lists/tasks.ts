import { listOpenTasks } from "../../ledger/operator/tasks.ts";
import { list } from "../list.ts";
import { TASK_COLUMNS } from "../order-columns.ts";
import { TASKS } from "../things/tasks.ts";

/** What a person has to do. */
export const TASK_LIST = list({
  key: "tasks",
  help: "List what is to be done, oldest first.",
  filters: {},
  columns: TASK_COLUMNS,
  note: "What a person has to see to, the oldest first.",
  thing: TASKS,
  seen: ({ file }) => file?.fileId,
  nothing: () => "No task is open. What else needs a person: `cryobridge status`",
  read: ({ pool }, _values, { limit, after }) => listOpenTasks(pool, limit, after),
  page: { kind: "k", flag: "after", of: ({ taskId }) => taskId },
});
