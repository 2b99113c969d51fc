import { type Problem, problemSentence } from "../core/failures.ts";
import { formatId, parseId } from "../ledger/ids.ts";
import type { Acted } from "../operator/acts.ts";
import type { Filters, List } from "../operator/list.ts";
import { counted, countsInWords } from "../operator/text.ts";
import { type ActWords, type DeclaredAct, refusalOf, type Thing } from "../operator/thing.ts";
import { type BeginWork, newWorkId, type Work } from "./act-on-many.ts";
import { actForm } from "./components.ts";
import type { Records } from "./deps.ts";
import { type Content, type Html, html } from "./html.ts";
import type { Page } from "./layout.ts";
import { filterValues, type ListPage, placeOf } from "./list-page.ts";
import { withCommands } from "./page-of-command.ts";
import { type Section, sectionOf } from "./sections.ts";
import type { Notice } from "./session.ts";
import type { Answer, Site, Submission, Visit } from "./site.ts";

// The forms by which people act on records, as the things of `src/operator/things/` declare them: one for each act on the page of a
// record, and for one act on many boxes before the rows of a list, a page that says what would be done, and the act.

/** At most this many at once. */
const MOST_AT_ONCE = 1_000;
const NAMED = 20;
const LINES = 20;

/** Where the forms of a record lead. */
export function pathOf<Row, Found extends Row>(
  { path, kind, numberOf }: Thing<Row, Found>,
  row: Row,
): string {
  return `${path}/${formatId(kind, numberOf(row))}`;
}

/** The record that an address names. */
export async function findNamed<Row, Found extends Row>(
  { kind, find }: Thing<Row, Found>,
  { params: { id = "" } }: Visit,
  { pool }: Records,
): Promise<Found | undefined> {
  const number = parseId(kind, id);
  return number === undefined ? undefined : find(pool, number);
}

/** The forms that a record, as it stands, has a use for. */
export function formsOf<Row, Found extends Row>(
  thing: Thing<Row, Found>,
  row: Row,
  visit: Visit,
  { acts }: Records,
): Html[] {
  return Object.entries(thing.acts).flatMap(([name, act]) =>
    act.suits(row, acts) ? [formOf(act, `${pathOf(thing, row)}/${name}`, row, visit)] : [],
  );
}

/** One form of an act on a record, or of one that has none. */
export function formOf<Row>(
  act: ActWords<Row> & Pick<DeclaredAct<Row>, "input">,
  action: string,
  row: Row,
  visit: Visit,
  {
    warnings = [],
    ...more
  }: Pick<Parameters<typeof actForm>[0], "fields" | "inputs"> & {
    readonly warnings?: readonly string[];
  } = {},
): Html {
  const { reason, input, isDangerous = false, explains } = act;
  const label = wordsFor(act.button, row);
  return actForm(
    {
      ...{ action, label, button: act.opened ?? label, isDangerous, reason: reasonFor(reason) },
      ...(explains === undefined ? {} : { explains: [wordsFor(explains, row), ...warnings].join(" ") }),
      ...(input === undefined ? {} : { inputs: inputOf({ ...input, label: input.label(row) }) }),
      ...more,
    },
    visit,
  );
}

function wordsFor<Row>(words: string | ((row: Row) => string), row: Row): string {
  return typeof words === "string" ? words : words(row);
}

/** What is asked besides the reason: one of some choices, or a whole number. */
export function inputOf({
  name,
  label,
  choices,
}: Pick<NonNullable<DeclaredAct<never>["input"]>, "name" | "choices"> & { readonly label: string }): Html {
  if (choices === undefined)
    return html`<label>${label}<input name="${name}" inputmode="numeric" pattern="[0-9]+" title="A number" required></label>`;
  const offered = choices.map(([value, words]) => html`<option value="${value}">${words}</option>`);
  return html`<label>${label}<select name="${name}">${offered}</select></label>`;
}

/** Whether the form of an act does nothing without a reason. */
export function isReasonWanted(reason: ActWords<never>["reason"]): boolean {
  return reasonFor(reason) === "required";
}

/** Whether the form of an act asks for a reason. */
export function reasonFor(reason: ActWords<never>["reason"]) {
  return ({ required: "required", usual: "required", optional: "optional", none: undefined } as const)[
    reason
  ];
}

/** Adds what the forms of a thing do; `list` is where many of its records are chosen. */
export function addActs<Row, Found extends Row, F extends Filters>(
  site: Site,
  thing: Thing<Row, Found>,
  records: Records,
  bulk?: { readonly list: List<Row, F>; readonly beginWork: BeginWork },
): void {
  const { path, acts, nameOf = idOf(thing), details } = thing;
  for (const [name, act] of Object.entries(acts)) {
    const add = isReasonWanted(act.reason) ? site.reasonedForm : site.form;
    add(`${path}/:id/${name}`, async (submission) => {
      const row = await findNamed(thing, submission, records);
      if (row === undefined) return undefined;
      const [isDone, words, more] = await actOnOne(act, row, submission, records);
      const to = details === undefined ? sectionOf(path) : pathOf(thing, row);
      const lines = [`${nameOf(row)} ${words}`, ...firstOf((more?.problems ?? []).map(problemLine))];
      return { to, notice: { isDone, lines } };
    });
    if (bulk && act.many)
      add(`${path}/${name}`, (submission) => actOnMany({ thing, act, ...bulk }, submission, records));
  }
  if (bulk) site.form(`${path}/choose`, (submission) => choose(thing, bulk.list, submission, records));
}

async function actOnOne<Row>(
  { start, input }: DeclaredAct<Row, never>,
  row: Row,
  { form, act: by }: Submission,
  records: Records,
): Promise<Acted> {
  const given = input?.parse(form.get(input.name) ?? "");
  if (input && given === undefined) return [false, input.missing];
  const run = await start(records, by, given as never);
  const acted = await run.each(row);
  await run.end?.();
  return acted;
}

function idOf<Row, Found extends Row>({ kind, numberOf }: Thing<Row, Found>) {
  return (row: Row) => formatId(kind, numberOf(row));
}

/** The box by which a record of a list is chosen. */
function chooseBox(id: string): Html {
  return html`<input id="choose-${id}" type="checkbox" name="id" value="${id}" aria-label="Choose ${id}">`;
}

/** A list with boxes in a form: what can be done with those chosen, or with all that the list's filter finds. */
export function chooseForm<Row, Found extends Row>(
  thing: Thing<Row, Found>,
  { rows, table }: Pick<ListPage<Row, Filters>, "rows" | "table">,
  visit: Visit,
  options: { readonly nothing?: string } = {},
): Html {
  const { path, acts, kind, numberOf } = thing;
  const box = (row: Row) => chooseBox(formatId(kind, numberOf(row)));
  const list = table({ ...options, ...beforeRows("choose", box, visit) });
  if (!visit.mayAct || rows.length === 0) return list;
  const { formToken, query } = visit;
  const buttons = Object.entries(acts).map(
    ([name, { many, button }]) =>
      many && html`<button class="small outline" name="act" value="${name}">${button}…</button>`,
  );
  return html`<form method="post" action="${path}/choose" class="choose-form"><input type="hidden" name="formToken" value="${formToken}"><input type="hidden" name="filter" value="${query.toString()}">
<div class="acts">${buttons}<label><input type="checkbox" name="all" value="yes"> all that are found, not only those chosen (at most ${MOST_AT_ONCE.toLocaleString("en")})</label></div>
${list}</form>`;
}

/** The ids that somebody chose on a list, in the order of receipt, and the list to go back to. */
function readChoice<Row, Found extends Row>({ kind, path }: Thing<Row, Found>, { form }: Submission) {
  const query = new URLSearchParams(form.get("filter") ?? "").toString();
  const ids = form.getAll("id").flatMap((each) => each.split(" ").flatMap((id) => parseId(kind, id) ?? []));
  return {
    ids: [...new Set(ids)].sort((one, other) => one - other),
    back: query === "" ? path : `${path}?${query}`,
  };
}

/** Says what would be done with the records that were chosen. */
async function choose<Row, Found extends Row, F extends Filters>(
  thing: Thing<Row, Found>,
  list: List<Row, F>,
  submission: Submission,
  records: Records,
): Promise<Answer> {
  const { noun, path, acts, kind, numberOf, nameOf = idOf(thing), describe = nameOf } = thing;
  const { form } = submission;
  const { ids, back } = readChoice(thing, submission);
  const notDone = (line: string): Answer => ({ to: back, notice: { isDone: false, lines: [line] } });
  const name = form.get("act") ?? "";
  const act = Object.hasOwn(acts, name) ? acts[name] : undefined;
  if (act?.many === undefined) return notDone(`Choose what to do with the ${noun}s.`);
  const { verb, explains } = act.many;
  const found =
    form.get("all") === "yes"
      ? await findListed(list, new URLSearchParams(form.get("filter") ?? ""), submission, records)
      : await thing.findAll?.(records.pool, ids);
  if (!found?.length) return notDone(`Choose ${noun}s first, by the boxes before them.`);
  if (found.length > MOST_AT_ONCE)
    return notDone(
      `More than ${MOST_AT_ONCE} ${noun}s are found, and no more than that are changed at once: narrow the filter.`,
    );
  const [meant = [], others = []] = [true, false].map((isMeant) =>
    found.filter((row) => act.suits(row, records.acts) === isMeant),
  );
  const leftOut = describeLeftOut(thing, act, others);
  if (meant.length === 0) return notDone(leftOut);
  return confirmPage(
    {
      ...{
        section: sectionOf(path),
        back,
        action: `${path}/${name}`,
        what: `${verb} ${counted(meant.length, noun)}`,
      },
      explains: typeof explains === "string" ? explains : explains(meant),
      ...{ leftOut, names: meant.map(describe) },
      fields: {
        id: meant.map((row) => formatId(kind, numberOf(row))).join(" "),
        filter: form.get("filter") ?? "",
      },
      ...{ reason: reasonFor(act.reason), isDangerous: act.isDangerous === true },
    },
    submission,
  );
}

async function findListed<Row, F extends Filters>(
  list: List<Row, F>,
  filter: URLSearchParams,
  visit: Visit,
  records: Records,
): Promise<readonly Row[]> {
  const values = filterValues(list, filter, visit);
  if (values === undefined) return [];
  return (await list.read(placeOf(records, visit), values, { limit: MOST_AT_ONCE + 1 })).toReversed();
}

/** `997 orders are left out: 990 completed, 7 discarded.` */
function describeLeftOut<Row, Found extends Row>(
  { noun, stateOf = () => "" }: Thing<Row, Found>,
  { many }: DeclaredAct<Row, never>,
  rows: readonly Row[],
): string {
  if (rows.length === 0) return "";
  const counts = Object.entries(Object.groupBy(rows, stateOf)).map(
    ([state, of = []]) => `${of.length} ${state}`,
  );
  const why = many?.leftOut === undefined ? "" : ` (${many.leftOut})`;
  return `${counted(rows.length, noun)} ${rows.length === 1 ? "is" : "are"} left out: ${counts.join(", ")}${why}.`;
}

/** Asks whether something is meant that is done to many records, with what it will do. */
export function confirmPage(
  {
    section,
    action,
    what,
    explains,
    leftOut = "",
    names = [],
    back,
    reason,
    isDangerous = false,
    fields,
  }: {
    readonly section: Section;
    readonly action: string;
    /** Such as `Replay 2 messages`. */
    readonly what: string;
    readonly explains: string;
    /** Why some of those chosen are left out. */
    readonly leftOut?: string;
    /** The records, as far as they are known one by one. */
    readonly names?: readonly string[];
    readonly fields: Readonly<Record<string, string>>;
    /** The list to go back to. */
    readonly back: string;
    readonly reason?: "optional" | "required" | undefined;
    readonly isDangerous?: boolean;
  },
  visit: Visit,
): Page {
  const others = names.length - NAMED;
  const form = { action, label: what, reason, isDangerous, isOpen: true };
  return {
    title: what,
    section,
    body: html`
<h1>${what}?</h1>
<p>${withCommands(explains)}</p>
${leftOut && html`<p class="note">${leftOut}</p>`}
${names.length > 0 && html`<ul>${names.slice(0, NAMED).map((name) => html`<li>${name}</li>`)}</ul>`}
${others > 0 && html`<p class="note">And ${others} more.</p>`}
<div class="confirm">${actForm({ ...form, fields: { ...fields, work: newWorkId() } }, visit)}</div>
<p class="more"><a href="${back}">Back, without doing anything</a></p>`,
  };
}

/** Does what was confirmed, in the order of receipt. */
async function actOnMany<Row, Found extends Row>(
  {
    thing,
    act,
    beginWork,
  }: {
    readonly thing: Thing<Row, Found>;
    readonly act: DeclaredAct<Row, never>;
    readonly beginWork: BeginWork;
  },
  submission: Submission,
  records: Records,
): Promise<Answer> {
  const { noun, path, nameOf = idOf(thing) } = thing;
  const { ids, back } = readChoice(thing, submission);
  const rows = (await thing.findAll?.(records.pool, ids.slice(0, MOST_AT_ONCE))) ?? [];
  const { verb = "", done = "" } = act.many ?? {};
  const work: Work = {
    title: `${verb} ${counted(rows.length, noun)}`,
    ...{ section: sectionOf(path), total: rows.length, back },
    run: async (onEach) => {
      const run = await act.start(records, submission.act, undefined as never);
      const all: { readonly name: string; readonly acted: Acted }[] = [];
      for (const row of rows) {
        all.push({ name: nameOf(row), acted: await run.each(row).catch(refusalOf) });
        onEach();
      }
      await run.end?.();
      return describeDone(all, noun, done);
    },
  };
  return beginWork(work, submission);
}

/** What became of many records. */
function describeDone(
  all: readonly { readonly name: string; readonly acted: Acted }[],
  noun: string,
  done: string,
): Notice {
  const refused = all.filter(({ acted: [isDone, , more] }) => !isDone && more?.mapped === undefined);
  const mapped = all.flatMap(({ acted: [, , more] }) => more?.mapped?.verdict ?? []);
  const count = counted(all.length - refused.length, noun);
  const of = refused.length === 0 || mapped.length > 0 ? "" : ` of ${all.length}`;
  const verdicts = mapped.length === 0 ? "" : `: ${countsInWords(countBy(mapped), "none")}`;
  const lines = all.flatMap(({ name, acted: [isDone, words, more] }) => {
    const [problem] = more?.problems ?? [];
    if (problem) return [`${name}: ${problemLine(problem)}`];
    return isDone && more?.isNews !== true ? [] : [`${name} ${words}`];
  });
  return {
    isDone: all.every(({ acted: [isDone] }) => isDone),
    lines: [`${count}${of} ${done}${verdicts}.`, ...firstOf(lines)],
  };
}

function problemLine(problem: Problem): string {
  return `${problemSentence(problem)} (${problem.code})`;
}

/** As many lines as a notice has room for. */
export function firstOf(lines: readonly string[]): string[] {
  const others = lines.length - LINES;
  return [...lines.slice(0, LINES), ...(others > 0 ? [`And ${others} more.`] : [])];
}

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** A cell before each row of a list, for those who may act. */
export function beforeRows<Row>(title: string, cell: (row: Row) => Content, { mayAct }: Visit) {
  return mayAct ? { before: { title, cell } } : {};
}
