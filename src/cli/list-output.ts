import type { Failure } from "../core/failures.ts";
import type { RawObject } from "../service/values.ts";
import { JsonDocument } from "./json-document.ts";
import { failureJson } from "./report-failure.ts";
import { otherFields, type ServiceColumn } from "./service-columns.ts";
import type { Session } from "./session.ts";
import { layOutTable, type TableLayout } from "./table.ts";

/** What is told at the end of a list. */
export interface ListEnd {
  readonly count: number;
  readonly hasMore: boolean;
  /** Further keys of the document. */
  readonly more: Readonly<Record<string, unknown>>;
  /** What broke the reading off. */
  readonly failure?: Failure | undefined;
}

/** Where the entries of a list go, as they come; nothing of them is kept. */
export interface ListOutput {
  write(entries: readonly RawObject[]): void;
  end(end: ListEnd): void;
}

/** One JSON document, written while it grows; it is whole also when the reading breaks off. */
export class JsonOutput implements ListOutput {
  readonly #document: JsonDocument;

  /** @param key under which the entries stand */
  constructor(session: Session, key: string) {
    this.#document = new JsonDocument(session, key);
  }

  write(entries: readonly RawObject[]): void {
    for (const entry of entries) this.#document.add(entry);
  }

  end({ count, hasMore, more, failure }: ListEnd): void {
    this.#document.end({ count, hasMore, ...more, ...(failure ? { error: failureJson(failure) } : {}) });
  }
}

/** A table whose widths are those of the first page. */
export class TableOutput implements ListOutput {
  readonly #session: Session;
  readonly #columns: readonly ServiceColumn[];
  readonly #isWide: boolean;
  readonly #nothing: string;
  #layout: TableLayout | undefined;

  constructor(
    session: Session,
    columns: readonly ServiceColumn[],
    options: { readonly isWide: boolean; readonly nothing: string },
  ) {
    this.#session = session;
    this.#columns = columns;
    this.#isWide = options.isWide;
    this.#nothing = options.nothing;
  }

  write(entries: readonly RawObject[]): void {
    if (entries.length === 0) return;
    const rows = entries.map((entry) => [
      ...this.#columns.map(({ cell }) => cell(entry)),
      ...(this.#isWide ? [this.#others(entry)] : []),
    ]);
    if (!this.#layout) {
      const titles = this.#isWide ? [...this.#columns, { title: "other" }] : this.#columns;
      this.#layout = layOutTable(titles, rows, this.#isWide ? undefined : this.#session.width);
      this.#session.line(this.#layout.header);
    }
    for (const line of this.#layout.lines(rows)) this.#session.line(line);
  }

  end({ failure }: ListEnd): void {
    if (!this.#layout && !failure) this.#session.line(this.#nothing);
  }

  #others(entry: RawObject): string {
    return otherFields(entry, this.#columns)
      .map(([field, value]) => `${field}=${value}`)
      .join(" ");
  }
}
