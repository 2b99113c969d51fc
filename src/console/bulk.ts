import { counted } from "../operator/text.ts";
import { actForm } from "./components.ts";
import { type Html, html } from "./html.ts";
import type { Page, Section } from "./layout.ts";
import type { Answer, Submission, Visit } from "./site.ts";
import { newWorkId } from "./work.ts";

// One act on many records: boxes before the rows, a page that says what would be done, and the act.

/** At most this many at once. */
export const MOST_AT_ONCE = 1_000;
const NAMED = 20;

/** The box by which a record of a list is chosen. */
export function chooseBox(id: string): Html {
  return html`<input id="choose-${id}" type="checkbox" name="id" value="${id}" aria-label="Choose ${id}">`;
}

/** A form around a list with boxes: what can be done with those chosen, or with all that the list's filter finds. */
export function chooseForm(
  { path, acts }: { readonly path: string; readonly acts: Readonly<Record<string, string>> },
  list: Html,
  { formToken, query }: Visit,
): Html {
  const buttons = Object.entries(acts).map(
    ([name, label]) => html`<button class="small outline" name="act" value="${name}">${label}</button>`,
  );
  return html`<form method="post" action="${path}/choose" class="choose-form"><input type="hidden" name="formToken" value="${formToken}"><input type="hidden" name="filter" value="${query.toString()}">
<div class="acts">${buttons}<label><input type="checkbox" name="all" value="yes"> all that are found, not only those chosen (at most ${MOST_AT_ONCE.toLocaleString("en")})</label></div>
${list}</form>`;
}

/** What somebody chose on a list. */
export interface Choice {
  readonly ids: readonly string[];
  /** All that this filter finds; undefined when only those with the ids are meant. */
  readonly filter: URLSearchParams | undefined;
  readonly act: string;
  /** The list to go back to. */
  readonly back: string;
}

/** Reads a form of {@link chooseForm}. */
export function readChoice({ form }: Submission, path: string): Choice {
  const filter = new URLSearchParams(form.get("filter") ?? "");
  const query = filter.toString();
  filter.delete("before");
  return {
    ids: form.getAll("id").flatMap((each) => each.split(" ")),
    filter: form.get("all") === "yes" ? filter : undefined,
    act: form.get("act") ?? "",
    back: query === "" ? path : `${path}?${query}`,
  };
}

/** The list again, with why nothing was done. */
export function notDone({ back }: Choice, ...lines: readonly string[]): Answer {
  return { to: back, notice: { isDone: false, lines } };
}

/** Asks whether something is meant that is done to many records, with what it will do. */
export function confirmPage(
  asked: {
    readonly section: Section;
    readonly action: string;
    /** Such as `Replay 2 messages`. */
    readonly what: string;
    readonly explains: string;
    /** Why some of those chosen are left out, a line each. */
    readonly leftOut?: readonly string[];
    /** The records, as far as they are known one by one. */
    readonly names?: readonly string[];
    readonly fields: Readonly<Record<string, string>>;
    /** The list to go back to. */
    readonly back: string;
    readonly reason?: "optional" | "required";
    readonly isDangerous?: boolean;
  },
  visit: Visit,
): Page {
  const {
    section,
    action,
    what,
    explains,
    leftOut = [],
    names = [],
    back,
    reason,
    isDangerous = false,
  } = asked;
  const others = names.length - NAMED;
  const fields = { ...asked.fields, work: newWorkId() };
  return {
    title: what,
    section,
    body: html`
<h1>${what}?</h1>
<p>${explains}</p>
${leftOut.map((line) => html`<p class="note">${line}</p>`)}
${names.length > 0 && html`<ul>${names.slice(0, NAMED).map((name) => html`<li>${name}</li>`)}</ul>`}
${others > 0 && html`<p class="note">And ${others} more.</p>`}
<div class="confirm">${actForm({ action, label: what, reason, isDangerous, isOpen: true, fields }, visit)}</div>
<p class="more"><a href="${back}">Back, without doing anything</a></p>`,
  };
}

/** The same for records of a list. */
export function confirmChoice(
  {
    verb,
    noun,
    ...asked
  }: Omit<Parameters<typeof confirmPage>[0], "what" | "names" | "fields" | "back"> & {
    /** Such as `Replay`. */
    readonly verb: string;
    /** Such as `message`. */
    readonly noun: string;
  },
  records: readonly { readonly id: string; readonly name: string }[],
  { back }: Choice,
  visit: Visit,
): Page {
  const what = `${verb} ${counted(records.length, noun)}`;
  const names = records.map(({ name }) => name);
  const fields = { id: records.map(({ id }) => id).join(" "), filter: back.split("?")[1] ?? "" };
  return confirmPage({ ...asked, what, names, fields, back }, visit);
}
