import { LISTS } from "../../operator/lists.ts";
import { addActs, beforeRows, formsOf } from "../act-forms.ts";
import type { Records } from "../deps.ts";
import { addListPage } from "../list-page.ts";
import type { Section } from "../sections.ts";
import type { Site } from "../site.ts";

/** Adds the pages of the lists that have none yet: the list, and what is done to its records. */
export async function addPlainLists(site: Site, records: Records): Promise<void> {
  for (const [name, { load }] of Object.entries(LISTS)) {
    const path = `/${name}` as Section;
    if (site.has(path)) continue;
    const list = await load();
    const { thing } = list;
    if (thing === undefined) addListPage(site, path, list, records);
    else {
      addListPage(site, path, list, records, {
        list: ({ table }, visit) =>
          table(beforeRows("what to do", (row) => formsOf(thing, row, visit, records), visit)),
      });
      addActs(site, thing, records);
    }
  }
}
