import { listOpenTasks } from "../../ledger/operator/tasks.ts";
import { list } from "../list.ts";
import { TASK_COLUMNS } from "../order-columns.ts";

/** What a person has to do. */
export const TASK_LIST = list({
  key: "tasks",
  help: "List what is to be done, oldest first.",
  filters: {},
  columns: TASK_COLUMNS,
  nothing: () => "No task is open. What else needs a person: `cryobridge status`",
  read: ({ pool }, _values, { limit, after }) => listOpenTasks(pool, limit, after),
  page: { kind: "k", flag: "after", of: ({ taskId }) => taskId },
});
