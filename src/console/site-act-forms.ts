import type { Outcome, SiteAct } from "../operator/site-act.ts";
import { confirmPage, firstOf, isReasonWanted, reasonFor } from "./act-forms.ts";
import type { BeginWork } from "./act-on-many.ts";
import type { Records } from "./deps.ts";
import { sectionOf } from "./sections.ts";
import type { Notice } from "./session.ts";
import type { Site, Submission } from "./site.ts";

/**
 * Adds what the form of an act does that has no record; it leads to the page of its section.
 * @param on what it is done to; undefined where there is no such thing
 */
export function addSiteAct<On extends object>(
  site: Site,
  act: SiteAct<On>,
  records: Records,
  on: (submission: Submission) => On | undefined,
): void {
  const { path } = act;
  const add = isReasonWanted(act.reason) ? site.reasonedForm : site.form;
  add(path, async (submission) => {
    const chosen = on(submission);
    if (chosen === undefined) return undefined;
    return { to: sectionOf(path), notice: await actOnSite(act, chosen, submission, records) };
  });
}

/**
 * The same for an act on many records: a page at `choose` below its path says what would be done, and another one how far it is.
 * @param on what it is done to, of which the confirmed form has each part again
 */
export function addManySiteAct<On extends object>(
  site: Site,
  { many, ...act }: SiteAct<On> & Required<Pick<SiteAct<On>, "many">>,
  { records, beginWork }: { readonly records: Records; readonly beginWork: BeginWork },
  on: (submission: Submission) => On,
): void {
  const { path } = act;
  const section = sectionOf(path);
  site.form(`${path}/choose`, async (submission) => {
    const chosen = on(submission);
    const { title, explains, total } = await many(records, chosen);
    if (total === 0) return { to: section, notice: { isDone: false, lines: [explains] } };
    const given = Object.entries(chosen).filter(([, value]) => value !== undefined);
    return confirmPage(
      {
        ...{ section, back: section, action: path, what: title, explains },
        ...{ fields: Object.fromEntries(given), reason: reasonFor(act.reason) },
      },
      submission,
    );
  });
  site.form(path, async (submission) => {
    const chosen = on(submission);
    const { title, total } = await many(records, chosen);
    const run = (onEach: () => void) => actOnSite(act, chosen, submission, records, onEach);
    return beginWork({ title, section, total, back: section, run }, submission);
  });
}

async function actOnSite<On extends object>(
  act: SiteAct<On>,
  on: On,
  { viewer, act: by }: Submission,
  records: Records,
  onEach: () => void = () => {},
): Promise<Notice> {
  return noticeOf(await act.act({ ...records, viewer, onEach }, by, on));
}

function noticeOf({ isDone, lines, each = [] }: Outcome): Notice {
  const news = each.flatMap(({ isNews, lines: own }) => (isNews ? own : []));
  return { isDone, lines: firstOf([...lines.map(([, text]) => text), ...news]) };
}
