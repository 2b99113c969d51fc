import type { Task } from "../../ledger/operator/tasks.ts";
import { TASK_LIST } from "../../operator/lists/tasks.ts";
import { HIDDEN } from "../../operator/text.ts";
import { TASKS } from "../../operator/things/tasks.ts";
import { addActs, beforeRows, formsOf } from "../act-forms.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { addListPage } from "../list-page.ts";
import type { Site } from "../site.ts";

/** What a person has to do, and writing down that it is done. */
export function addTaskPage(site: Site, records: Records): void {
  addListPage(site, "/tasks", TASK_LIST, records, {
    above: () => html`<p class="note">What a person has to see to, the oldest first.</p>`,
    list: ({ rows, table }, visit) => {
      const forms = (task: Task) => formsOf(TASKS, task, visit, records);
      return table({ rows: rows.map(withoutPath), ...beforeRows("what to do", forms, visit) });
    },
  });
  addActs(site, TASKS, records);
}

/** The path of a dropped file may name a patient; the file's own page shows it. */
function withoutPath(task: Task): Task {
  return task.file === undefined ? task : { ...task, file: { ...task.file, path: HIDDEN } };
}
