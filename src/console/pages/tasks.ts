import type { Task } from "../../ledger/operator/tasks.ts";
import { TASK_LIST } from "../../operator/lists/tasks.ts";
import { TASK_COLUMNS } from "../../operator/order-columns.ts";
import { HIDDEN } from "../../operator/text.ts";
import { TASKS } from "../../operator/things/tasks.ts";
import { addActs, beforeRows, formsOf } from "../act-forms.ts";
import { listTable } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { readListPage } from "../listing.ts";
import type { Site } from "../site.ts";

const PATH = "/tasks";

/** What a person has to do, and writing down that it is done. */
export function addTaskPage(site: Site, records: Records): void {
  site.page(PATH, async (visit) => {
    const { rows, more } = await readListPage(TASK_LIST, PATH, visit, records);
    const before = beforeRows("what to do", (task: Task) => formsOf(TASKS, task, visit, records), visit);
    return {
      title: "Tasks",
      section: PATH,
      isLive: true,
      body: html`
<h1>Tasks</h1>
<p class="note">What a person has to see to, the oldest first.</p>
${listTable(TASK_COLUMNS, rows.map(withoutPath), visit.viewer, { nothing: "No task is open.", ...before })}
${more}`,
    };
  });
  addActs(site, TASKS, records);
}

/** The path of a dropped file may name a patient; the file's own page shows it. */
function withoutPath(task: Task): Task {
  return task.file === undefined ? task : { ...task, file: { ...task.file, path: HIDDEN } };
}
