import { shownProblem } from "../../core/failures.ts";
import { type Column, recordJson } from "../../operator/column.ts";
import type { Details, Entry, Overview, Part, Remark } from "../../operator/parts.ts";
import { clean, HIDDEN, problemLines } from "../../operator/text.ts";
import { describeStep, stepsOf } from "../../operator/timeline.ts";
import { localTime, timeWithAge } from "../../operator/times.ts";
import type { Session } from "../session.ts";
import { renderFields, renderTable } from "./table.ts";

/** A part of what is known of one thing. */
export interface Section {
  /** For programs: further keys of the document. */
  readonly json: Readonly<Record<string, unknown>>;
  /** What stands above its lines. */
  readonly title?: string;
  /** For people; without any the section is left out. */
  readonly lines: readonly string[];
}

/** The values of a record, each under its title. */
export function fields<Row>(columns: readonly Column<Row>[], row: Row, session: Session): Section {
  return { json: recordJson(columns, row, session), lines: renderFields(columns, row, session) };
}

/** What a section with a title is set in. */
const INDENT = 2;

/** The room that the lines of a section with a title have. */
function insetWidth({ width }: Session): number | undefined {
  return width === undefined ? undefined : width - INDENT;
}

/** A list within the details. */
export function table<Row>(
  [key, title]: readonly [key: string, title: string],
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  session: Session,
): Section {
  return {
    title,
    json: { [key]: rows.map((row) => recordJson(columns, row, session)) },
    lines: rows.length === 0 ? [] : renderTable(columns, rows, { ...session, width: insetWidth(session) }),
  };
}

/** The details of a record, as people and programs read them. */
export function sectionsOf(
  { heading, remarks = [], parts }: Details,
  session: Session,
): { readonly heading: readonly string[]; readonly sections: readonly Section[] } {
  const { name, what, state, paint = [], since } = heading;
  const painted = session.paint(["bold", ...[paint].flat()], state);
  const when = since === undefined ? "" : ` since ${timeWithAge(since, session.clock.now())}`;
  return {
    heading: [
      clean(`${name}: ${what === undefined ? "" : `${what}, `}`) + painted + when,
      ...remarkLines(remarks, session),
    ],
    sections: parts.map((part) => sectionOf(part, session)),
  };
}

function remarkLines(remarks: readonly Remark[], { paint }: Session): string[] {
  return remarks.flatMap(({ title, text, hint, isAct }) => [
    `${isAct ? paint("yellow", clean(title)) : clean(title)}${text && ` ${clean(text)}`}`,
    ...hintLines(hint),
  ]);
}

function sectionOf(part: Part, session: Session): Section {
  return { ...titleOf(part), json: part.json ?? {}, lines: linesOf(part, session) };
}

/** Shows what several tables say, to people or as one JSON document. @param rest its further keys */
export function printOverview(
  session: Session,
  { remarks = [], parts }: Overview,
  rest: Readonly<Record<string, unknown>> = {},
): void {
  const sections = [...parts.map((part) => sectionOf(part, session)), { json: rest, lines: [] }];
  printDetails(session, remarkLines(remarks, session), sections);
}

/** What stands right below the heading needs no title. */
function titleOf({ kind, title }: Part) {
  return kind === "fields" || title === undefined ? {} : { title };
}

function linesOf(part: Part, session: Session): string[] {
  switch (part.kind) {
    case "json":
      return [];
    case "fields":
      return renderFields(part.columns, part.row, session);
    case "table": {
      const { columns, rows, nothing, more, notes = [] } = part;
      if (rows.length === 0) return nothing === undefined ? [] : [nothing];
      const inset = { ...session, width: part.title === undefined ? session.width : insetWidth(session) };
      return [
        ...renderTable(columns, rows, inset),
        ...(more === undefined ? [] : [more.words]),
        ...notes.map(clean),
      ];
    }
    case "entries":
      return part.entries.flatMap(entryLines);
    case "problems":
      return problemLines(part.problems.map(shownProblem), part.known);
    case "text": {
      const { note, sizeBytes, nothing, lines } = part;
      if (sizeBytes === undefined) return [nothing];
      const hidden = [`${HIDDEN} (${sizeBytes} bytes; --show-phi shows it)`];
      return [...(note === undefined ? [] : [note]), ...(lines ?? hidden)];
    }
    case "timeline":
      return stepsOf(part.events).map((step) => `${localTime(step.at)}  ${clean(describeStep(step))}`);
  }
}

/** Something that happened, with what a person does about it and what was sent or came with it. */
function entryLines({ at, text, hint, body, isHidden = false }: Entry): string[] {
  const shown = isHidden ? "(what it says is shown with --show-phi)" : body;
  const below = shown === undefined ? [] : shown.split("\n").map((line) => `  ${clean(line)}`);
  return [`${localTime(at)}  ${text}`, ...hintLines(hint), ...below];
}

function hintLines(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`  ${clean(hint)}`];
}

/** The details as a program reads them. */
export function detailsJson(sections: readonly Section[]): Record<string, unknown> {
  return Object.assign({}, ...sections.map(({ json }) => json));
}

/** Shows the details to people: the heading, and what each section has below its title. */
export function printSections(
  session: Session,
  heading: readonly string[],
  sections: readonly Section[],
): void {
  session.lines(heading);
  let isFirst = heading.length === 0;
  for (const { title, lines } of sections) {
    if (lines.length === 0) continue;
    if (!isFirst) session.line();
    isFirst = false;
    if (title !== undefined) session.line(session.paint("bold", title));
    session.lines(lines, title === undefined ? 0 : INDENT);
  }
}

/** Shows all that is known of one thing, to people or as one JSON document. */
export function printDetails(
  session: Session,
  heading: readonly string[],
  sections: readonly Section[],
): void {
  if (session.isJson) session.json(detailsJson(sections));
  else printSections(session, heading, sections);
}
