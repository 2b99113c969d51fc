import { listOpenTasks, type Task } from "../../ledger/operator/tasks.ts";
import { type Column, forPrograms, type Viewer } from "../column.ts";
import { list } from "../list.ts";
import { authorityOf, showNumber } from "../order-words.ts";
import { hideText } from "../text.ts";
import { TASKS } from "../things/tasks.ts";
import { relativeTime } from "../times.ts";

/** The values of a task. */
export const TASK_COLUMNS: readonly Column<Task>[] = [
  { key: "taskId", title: "id" },
  {
    title: "about",
    show: (task) => task.orderId ?? task.messageId ?? task.deliveryId ?? task.file?.fileId,
    link: ({ orderId, messageId, deliveryId, file }) => {
      if (orderId !== undefined) return `/orders/${orderId}`;
      if (messageId !== undefined) return `/messages/${messageId}`;
      return deliveryId === undefined ? file && `/files/${file.fileId}` : `/results/${deliveryId}`;
    },
  },
  ...forPrograms<Task>("orderId", "messageId", "deliveryId"),
  { key: "file", value: ({ file }, viewer) => file && { ...file, path: pathOf(file, viewer) } },
  { key: "placerOrderNumber", title: "order number", isFlexible: true, show: showNumber },
  { key: "placerAuthority", value: authorityOf },
  { key: "kind" },
  {
    key: "openedAt",
    title: "since",
    show: ({ openedAt, closedBy }, { clock }) =>
      closedBy === undefined ? relativeTime(openedAt, clock.now()) : `done by ${closedBy}`,
  },
  {
    key: "text",
    title: "what",
    isFlexible: true,
    show: ({ file, text }, viewer) =>
      file === undefined ? text : `${pathOf(file, viewer)} of connector ${file.connector}: ${text}`,
  },
  ...forPrograms<Task>("closedAt", "closedBy"),
];

/** Where a dropped file lies, which may name a patient. */
function pathOf({ path }: NonNullable<Task["file"]>, { mayShowPhi }: Viewer): string {
  return hideText(path, mayShowPhi);
}

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
