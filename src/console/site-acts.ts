import type { SiteAct } from "../operator/site-act.ts";
import { firstOf, isReasonWanted } from "./acts.ts";
import type { Records } from "./deps.ts";
import { type Site, type Submission, sectionOf } from "./site.ts";

/**
 * Adds what the form of an act does that has no record; it leads to the page of its section.
 * @param on what it is done to; undefined where there is no such thing
 */
export function addSiteAct<On extends object>(
  site: Site,
  path: string,
  act: SiteAct<On>,
  records: Records,
  on: (submission: Submission) => On | undefined,
): void {
  const add = isReasonWanted(act.reason) ? site.reasonedForm : site.form;
  add(path, async (submission) => {
    const chosen = on(submission);
    if (chosen === undefined) return undefined;
    const { isDone, lines } = await act.act(
      { ...records, viewer: submission.viewer },
      submission.act,
      chosen,
    );
    return { to: sectionOf(path), notice: { isDone, lines: firstOf(lines.map(([, text]) => text)) } };
  });
}
