import { type Column, recordJson } from "../../operator/column.ts";
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
export function insetWidth({ width }: Session): number | undefined {
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
