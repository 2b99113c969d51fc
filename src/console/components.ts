import { type Problem, shownProblem } from "../core/failures.ts";
import {
  type Column,
  cellText,
  detailTexts,
  linkOf,
  listColumns,
  type Paint,
  type Viewer,
} from "../operator/column.ts";
import { type Known, readyHint } from "../operator/ready-hint.ts";
import { type Content, type Html, html } from "./html.ts";
import { withCommands } from "./page-of-command.ts";
import type { Visit } from "./site.ts";
import { toneOf } from "./tone.ts";

// What pages are made of.

/** A few words that stand out: a state, a verdict. */
export function badge(words: string, paint: Paint | readonly Paint[] | undefined): Html {
  return html`<span class="badge ${toneOf(paint)}">${words}</span>`;
}

/** A list as a table, of the columns that a command shows; on a small window each row is a card. */
export function listTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  viewer: Viewer,
  options: {
    /** What stands in place of an empty list. */
    readonly nothing: Content;
    /** Stands before each row, such as a box to choose it by; its title is for those who don't see it. */
    readonly before?: { readonly title: string; readonly cell: (row: Row) => Content };
  },
): Html {
  if (rows.length === 0) return html`<p class="nothing">${options.nothing}</p>`;
  const { before } = options;
  const filled = listColumns(columns)
    .map((column) => ({ column, texts: rows.map((row) => cellText(column, row, viewer)) }))
    // A column that says nothing of any row only takes room.
    .filter(({ texts }) => texts.some((text) => text !== ""));
  const body = rows.map((row, index) => {
    const cells = filled.map(({ column, texts }) => cell(column, row, texts[index] ?? "", viewer));
    return html`<tr>${before && html`<td class="choose">${before.cell(row)}</td>`}${cells}</tr>`;
  });
  return html`<div class="table"><table><thead><tr>${before && html`<th scope="col"><span class="unseen">${before.title}</span></th>`}${filled.map(
    ({ column }) => html`<th scope="col"${classOf(column)}>${column.title}</th>`,
  )}</tr></thead><tbody>${body}</tbody></table></div>`;
}

function cell<Row>(column: Column<Row>, row: Row, text: string, viewer: Viewer): Html {
  const paint = column.paint?.(row);
  const to = linkOf(column, row, viewer);
  const words = paint === undefined || text === "" ? breakable(text) : badge(text, paint);
  const shown = to === undefined ? words : html`<a href="${to}">${words}</a>`;
  return html`<td data-head="${column.title}"${classOf(column, column.paint !== undefined)}>${shown}</td>`;
}

/** So many characters find room in one line. */
const MOST_UNBROKEN = 20;
const LINE = new RegExp(`.{1,${MOST_UNBROKEN}}`, "gsu");

/**
 * A day is not broken into lines, and a time only on a small window; what has no blank for long is: codes at their underscores,
 * names of files after a sign between their parts, and anything else somewhere.
 */
function breakable(text: string): Content {
  const [, day, time, rest] = /^(\d{4}-\d{2}-\d{2})( \d{2}:\d{2}:\d{2})(.*)$/.exec(text) ?? [];
  if (day !== undefined)
    return html`<span class="when"><span class="whole">${day}</span>${time}</span>${rest}`;
  const parts = text
    .split(/(?<=[\s_])/)
    .flatMap((word) => (word.length > MOST_UNBROKEN ? word.split(/(?<=[-./\\])/) : [word]))
    .flatMap((part) => part.match(LINE) ?? []);
  return parts.map((part, n) => html`${n > 0 && !/\s$/.test(parts[n - 1] ?? "") && html`<wbr>`}${part}`);
}

/**
 * Numbers stand at the right, and what may be cut on a terminal may be broken into lines here. What says by itself what it is
 * needs no heading on a card.
 */
function classOf<Row>({ isRight, isFlexible, isAge }: Column<Row>, isBadge = false): Content {
  const classes = [isRight && "right", !isFlexible && "whole", isAge && "age", isBadge && "says"].filter(
    Boolean,
  );
  return classes.length > 0 && html` class="${classes.join(" ")}"`;
}

/** The values of a record, each under its title. */
export function details<Row>(columns: readonly Column<Row>[], row: Row, viewer: Viewer): Html {
  return html`<dl class="details">${detailTexts(columns, row, viewer).map(
    ({ title, text, link }) =>
      html`<div><dt>${title}</dt><dd>${link === undefined ? text : html`<a href="${link}">${text}</a>`}</dd></div>`,
  )}</dl>`;
}

/** What a filter offers, by value or by value and name, behind "any" or another word for all. */
export function options(
  choices: readonly (string | readonly [value: string, name: string])[],
  chosen: string | undefined,
  any = "any",
): Html {
  const all = choices.map((each) => (typeof each === "string" ? ([each, each] as const) : each));
  return html`${([["", any], ...all] as const).map(([value, name]) => html`<option value="${value}"${value === (chosen ?? "") ? html` selected` : ""}>${name}</option>`)}`;
}

/** A part of a page under its heading; nothing without content. */
export function section(title: string, content: Content): Html {
  if (content === "" || content === undefined) return html``;
  return html`<section><h2>${title}</h2>${content}</section>`;
}

/** A long list of problems is cut. */
const PROBLEMS = 50;

/** What is wrong with a message or file, each with its place and what to do; nothing where all is well. */
export function problemBox(title: string, problems: readonly Problem[], known: Known = {}): Html {
  if (problems.length === 0) return html``;
  const items = problems.slice(0, PROBLEMS).map((problem) => {
    const { code, place, message, hint } = shownProblem(problem);
    return html`<li><strong>${place === "" ? "" : `${place}: `}${message}</strong> <code>${code}</code>${hint === null ? "" : html`<div class="note">${withCommands(readyHint(hint, known))}</div>`}</li>`;
  });
  const others = problems.length - items.length;
  return html`<div class="why"><strong>${title}</strong><ul class="plain">${items}${others > 0 ? html`<li class="note">And ${others} more.</li>` : ""}</ul></div>`;
}

/** A form of one button, and a reason where that is kept. */
interface ActForm {
  readonly action: string;
  readonly label: string;
  /** What stands on the button of a form that was opened, where the label alone might be misread there. */
  readonly button?: string;
  /** What the act does, before somebody does it. */
  readonly explains?: string;
  readonly reason?: "optional" | "required" | undefined;
  readonly fields?: Readonly<Record<string, string>>;
  /** Further inputs. */
  readonly inputs?: Content;
  readonly isDangerous?: boolean;
  /** It stands open, without a click. */
  readonly isOpen?: boolean;
}

/** A form that acts, for those who may; opened by a click where it asks for more than the click. */
export function actForm(
  { action, label, button = label, explains, reason, fields = {}, inputs, isDangerous, isOpen }: ActForm,
  { mayAct, formToken }: Visit,
): Html {
  if (!mayAct) return html``;
  const hidden = Object.entries({ ...fields, formToken }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const why =
    reason &&
    html`<label>Why${reason === "required" ? "" : " (may be left out)"}<input name="reason" maxlength="500"${reason === "required" ? html` required pattern=".*\\S.*" title="Say why"` : ""}></label>`;
  const isPlain = reason === undefined && inputs === undefined && explains === undefined;
  const form = html`<form method="post" action="${action}"${isPlain || isOpen ? html` class="act"` : ""}>${hidden}${explains && html`<p class="note">${withCommands(explains)}</p>`}${inputs}${why}<button class="small${isDangerous ? " danger" : ""}">${button.replace(/…$/, "")}</button></form>`;
  if (isPlain || isOpen) return form;
  // A refresh leaves it with its record, or takes it away with that: it knows the form by this.
  const id = ["act", action, ...Object.values(fields)].join("-").replace(/[^\w-]+/g, "-");
  return html`<details id="${id}" class="act" hx-morph-skip><summary class="small">${label.replace(/…$/, "")}</summary>${form}</details>`;
}

/** Who does what a page's texts name, for those who may only look. */
export function whoActs({ mayAct }: Visit): Html {
  return mayAct
    ? html``
    : html`<p class="note">You may look; what is to be done is for an operator, or for the command line.</p>`;
}

/** A list's filter. It is posted, since what somebody types may name a patient: see `Site.filter`. */
export function filterForm(list: string, inputs: Content, { formToken }: Visit): Html {
  return html`<form class="filter" method="post" action="${list}/filter"><input type="hidden" name="formToken" value="${formToken}">${inputs}<button class="small">Find</button></form>`;
}

/** Stands in place of a list whose address has a key that means nothing any more. */
export const SEARCH_AGAIN = "What was searched for is not kept any more: search again.";

/** The link to the next page of a list that was cut: of what came before its last record, or after it where the oldest stand first. */
export function nextPage(
  query: URLSearchParams,
  path: string,
  last: string,
  direction: "before" | "after" = "before",
): Html {
  const next = new URLSearchParams(query);
  next.set(direction, last);
  const name = direction === "before" ? "Older ones" : "Newer ones";
  return html`<p class="more"><a href="${path}?${next.toString()}">${name}</a></p>`;
}
