import { parseId } from "../../ledger/ids.ts";
import { closeTask, findTask, listOpenTasks, type Task } from "../../ledger/operator/tasks.ts";
import { TASK_COLUMNS } from "../../operator/order-columns.ts";
import { HIDDEN } from "../../operator/text.ts";
import { actForm, listTable, nextPage } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/tasks";
const LINES = 50;

/** What a person has to do, and writing down that it is done. */
export function addTaskPage(site: Site, { pool }: Records): void {
  site.page(PATH, async (visit) => {
    const { query } = visit;
    const found = await listOpenTasks(pool, LINES + 1, parseId("k", query.get("after") ?? ""));
    const tasks = found.slice(0, LINES).map(withoutPath);
    const last = tasks.at(-1);
    const before = { title: "what to do", cell: (task: Task) => doneForm(task, visit) };
    return {
      title: "Tasks",
      section: PATH,
      isLive: true,
      body: html`
<h1>Tasks</h1>
<p class="note">What a person has to see to, the oldest first.</p>
${listTable(TASK_COLUMNS, tasks, visit.viewer, { nothing: "No task is open.", ...(visit.mayAct ? { before } : {}) })}
${found.length > LINES && last ? nextPage(query, PATH, last.taskId, "after") : ""}`,
    };
  });
  site.reasonedForm(`${PATH}/:id/done`, async ({ params: { id = "" }, act }) => {
    const number = parseId("k", id);
    if (number === undefined || !(await findTask(pool, number))) return undefined;
    const isDone = await closeTask(pool, number, act);
    return { to: PATH, notice: { isDone, lines: [`${id} ${isDone ? "is done" : "was done before"}.`] } };
  });
}

/** The path of a dropped file may name a patient; the file's own page shows it. */
function withoutPath(task: Task): Task {
  return task.file === undefined ? task : { ...task, file: { ...task.file, path: HIDDEN } };
}

function doneForm({ taskId }: Task, visit: Visit) {
  return actForm({ action: `${PATH}/${taskId}/done`, label: "Done…", reason: "required" }, visit);
}
