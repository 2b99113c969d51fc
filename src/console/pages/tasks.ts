import { parseId } from "../../ledger/ids.ts";
import { closeTask, findTask, type Task } from "../../ledger/operator/tasks.ts";
import { TASK_LIST } from "../../operator/lists/tasks.ts";
import { TASK_COLUMNS } from "../../operator/order-columns.ts";
import { HIDDEN } from "../../operator/text.ts";
import { actForm, listTable } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { readListPage } from "../listing.ts";
import type { Site, Visit } from "../site.ts";

const PATH = "/tasks";

/** What a person has to do, and writing down that it is done. */
export function addTaskPage(site: Site, records: Records): void {
  const { pool } = records;
  site.page(PATH, async (visit) => {
    const { rows, more } = await readListPage(TASK_LIST, PATH, visit, records);
    const tasks = rows.map(withoutPath);
    const before = { title: "what to do", cell: (task: Task) => doneForm(task, visit) };
    return {
      title: "Tasks",
      section: PATH,
      isLive: true,
      body: html`
<h1>Tasks</h1>
<p class="note">What a person has to see to, the oldest first.</p>
${listTable(TASK_COLUMNS, tasks, visit.viewer, { nothing: "No task is open.", ...(visit.mayAct ? { before } : {}) })}
${more}`,
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
