import { formatId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator/audit.ts";
import type { Viewer } from "../operator/column.ts";
import type { Details, Entry, Part, Remark } from "../operator/parts.ts";
import type { Thing } from "../operator/thing.ts";
import { localTime } from "../operator/times.ts";
import { findNamed, formsOf, pathOf } from "./act-forms.ts";
import { age } from "./ages.ts";
import { actForm, badge, details as facts, listTable, problemBox, section, whoActs } from "./components.ts";
import type { Records } from "./deps.ts";
import { type Content, type Html, html } from "./html.ts";
import type { Page } from "./layout.ts";
import { withCommands } from "./page-of-command.ts";
import { sectionOf } from "./sections.ts";
import { type Site, type Visit, wholeNumber } from "./site.ts";
import { timeline } from "./timeline.ts";

// The page of a record, as the things of `src/operator/things/` declare what is known of one.

/** Messages of a file on its page. */
const A_PAGE = 50;

/** What is particular to the page of a record. */
interface Particulars<Found> {
  /** Where the parts stand, each found by its name; what is not named is left out. */
  readonly arrange: (at: (name: string) => Html) => Html;
  /** What the page has in the place of a part, or besides them. */
  readonly instead?: (row: Found, visit: Visit) => Promise<Readonly<Record<string, Html>>>;
  /** Further forms, and what stands below them. */
  readonly forms?: (row: Found, details: Details, visit: Visit) => Promise<Content>;
  readonly below?: (row: Found, details: Details, visit: Visit) => Promise<Content> | Content;
  /** What else of a patient the page shows, for the audit. */
  readonly alsoSeen?: (row: Found) => string;
  /** Whether a person may read in it what a refresh would hide. */
  readonly isStill?: boolean;
}

/** Adds the page of a record, and the look at its patient's data, which is written down. */
export function addDetails<Row, Found extends Row>(
  site: Site,
  thing: Thing<Row, Found>,
  records: Records,
  particulars: Particulars<Found>,
): void {
  const { path, details } = thing;
  const page = async (visit: Visit, row: Found) => {
    const after = wholeNumber(visit.query.get("after"), 9) ?? 0;
    const known = await details?.read(records, row, visit.viewer, { limit: A_PAGE, after });
    return known && detailsPage(thing, row, known, particulars, visit, records);
  };
  site.page(`${path}/:id`, async (visit) => {
    const row = await findNamed(thing, visit, records);
    return row && page(visit, row);
  });
  const seen = details?.seen;
  if (seen === undefined) return;
  site.form(`${path}/:id/show`, async (submission) => {
    const row = await findNamed(thing, submission, records);
    if (row === undefined) return undefined;
    const targets = [...(await seen(records, row)), particulars.alsoSeen?.(row)];
    await recordAudit(
      records.pool,
      submission.act,
      "show-phi",
      targets.flatMap((target) => (target === undefined ? [] : { target })),
    );
    return page(submission, row);
  });
}

async function detailsPage<Row, Found extends Row>(
  thing: Thing<Row, Found>,
  row: Found,
  details: Details,
  { arrange, instead, forms, below, isStill = false }: Particulars<Found>,
  visit: Visit,
  records: Records,
): Promise<Page> {
  const { viewer } = visit;
  const { heading, remarks = [], parts } = details;
  const path = pathOf(thing, row);
  const at = partsAt(parts, path, viewer, await instead?.(row, visit));
  const problems = parts.flatMap((part) =>
    part.kind === "problems" ? problemBox(part.title ?? "", part.problems, part.known) : [],
  );
  const { name, what, state, paint, since } = heading;
  const note = [what, since && age(since, viewer)].filter((each) => each !== undefined);
  return {
    title: thing.nameOf?.(row) ?? formatId(thing.kind, thing.numberOf(row)),
    section: sectionOf(thing.path),
    isLive: !viewer.mayShowPhi && !isStill,
    body: html`
<div class="title"><h1>${name}</h1>${badge(state, paint)}<span class="note">${note.map((each, n) => html`${n > 0 ? " · " : ""}${each}`)}</span></div>
${remarkBoxes(remarks)}
${problems}
<div class="acts">${formsOf(thing, row, visit, records)}${await forms?.(row, details, visit)}${thing.details?.seen && revealForm(path, visit)}</div>
${remarks.length > 0 || problems.some(({ text }) => text !== "") ? whoActs(visit) : ""}
${await below?.(row, details, visit)}
${arrange(at)}`,
  };
}

/** Why something stands as it does, and what to do about it. */
export function remarkBoxes(remarks: readonly Remark[] = []): Html[] {
  return remarks.map(
    ({ title, text, hint, isAct }) =>
      html`<div class="why${isAct ? " act" : ""}"><strong>${title}</strong> ${withCommands(text)}${noteOf(hint)}</div>`,
  );
}

/** What a page has besides the rows of a table: a cell before each, and what stands below them. */
interface Beside {
  readonly before?: { readonly title: string; readonly cell: (row: never) => Content };
  readonly below?: Content;
}

/** Gives a part by its name, under its heading; nothing for one that is not there. @param own what the page has in its place */
export function partsAt(
  parts: readonly Part[],
  path: string,
  viewer: Viewer,
  own: Readonly<Record<string, Html>> = {},
): (name: string, beside?: Beside) => Html {
  return (name, beside) => {
    const part = parts.find((each) => each.name === name);
    if (part === undefined) return own[name] ?? html``;
    const content = own[name] ?? contentOf(part, path, viewer, beside);
    return part.title === undefined ? html`${content}` : section(part.title, content);
  };
}

/** Shows patients' data, or hides them again. */
function revealForm(path: string, visit: Visit): Html {
  if (visit.viewer.mayShowPhi)
    return html`<a class="small outline secondary" role="button" href="${path}">Hide the patient's data</a>`;
  return actForm({ action: `${path}/show`, label: SHOW }, visit);
}

const SHOW = "Show the patient's data (is recorded)";

function contentOf(part: Part, path: string, viewer: Viewer, { before, below }: Beside = {}): Content {
  switch (part.kind) {
    case "json":
    case "problems":
      return "";
    case "fields":
      return facts(part.columns, part.row, viewer);
    case "table": {
      const { columns, rows, nothing, more, notes = [] } = part;
      if (rows.length === 0 && nothing === undefined) return "";
      const table = listTable(columns, rows, viewer, { nothing: nothing ?? "", ...(before && { before }) });
      return html`${table}${more && html`<p class="more"><a href="${path}?after=${more.after}">Next ones</a></p>`}${notes.map((note) => html`<p class="note">${withCommands(note)}</p>`)}${below}`;
    }
    case "entries":
      return part.entries.length === 0 ? "" : html`<ul class="plain">${part.entries.map(entryItem)}</ul>`;
    case "text": {
      const { note, link, sizeBytes, nothing, lines } = part;
      if (sizeBytes === undefined) return html`<p class="nothing">${nothing}</p>`;
      const shown = lines && html`<pre>${lines.join("\n")}</pre>`;
      return html`${note && html`<p class="note">${link === undefined ? note : html`<a href="${link}">${note}</a>`}</p>`}${shown ?? html`<p class="note">${sizeBytes} bytes, hidden until asked for.</p>`}`;
    }
    case "timeline":
      return timeline(part.events, viewer);
  }
}

function entryItem({ at, text, hint, body }: Entry): Html {
  return html`<li>${localTime(at)} ${text}${noteOf(hint)}${body === undefined ? "" : html`<pre>${body}</pre>`}</li>`;
}

function noteOf(hint: string | undefined): Html | "" {
  return hint === undefined ? "" : html`<div class="note">${withCommands(hint)}</div>`;
}
