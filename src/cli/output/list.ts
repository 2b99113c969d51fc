import type { Failure } from "../../core/failures.ts";
import { type Column, recordJson } from "../../operator/column.ts";
import type { Session } from "../session.ts";
import { failureJson } from "./failure.ts";
import { layOutTable, type TableLayout } from "./table.ts";

/** One JSON document with a long list, written while it grows. */
export class JsonDocument {
  readonly #session: Pick<Session, "io">;
  #isFirst = true;

  /** @param key under which the entries stand */
  constructor(session: Pick<Session, "io">, key: string) {
    this.#session = session;
    this.#put(`{\n  ${JSON.stringify(key)}: [`);
  }

  /** Adds an entry to the list. */
  add(entry: unknown): void {
    this.#put(`${this.#isFirst ? "" : ","}\n    ${JSON.stringify(entry)}`);
    this.#isFirst = false;
  }

  /** Ends list and document. @param rest its further keys */
  end(rest: Readonly<Record<string, unknown>> = {}): void {
    const lines = JSON.stringify(rest, null, 2).slice(1);
    this.#put(`${this.#isFirst ? "" : "\n  "}]${lines === "}" ? "\n}" : `,${lines}`}\n`);
  }

  #put(text: string): void {
    this.#session.io.stdout.write(text);
  }
}

/** How a list is called and shown. */
interface ListForm<Row> {
  /** The key of the list in JSON. */
  readonly key: string;
  readonly columns: readonly Column<Row>[];
  /** What people read in place of an empty list. */
  readonly nothing: string;
  /** What programs are given of an entry where that is not what the columns say. */
  readonly json?: (row: Row) => unknown;
  /** The option with which the command shows what comes after a row, such as `--before o17`. */
  readonly nextPage?: (last: Row) => string;
}

interface ListEnd {
  /** Whether it was cut at its limit. */
  readonly hasMore?: boolean | undefined;
  /** The options that show more. */
  readonly how?: string;
  /** Further keys of the document. */
  readonly rest?: Readonly<Record<string, unknown>>;
  /** What broke the reading off; a document is whole then, too, with the failure in it. */
  readonly failure?: Failure | undefined;
}

/** A list that is written as its entries come, a table or one JSON document; nothing of it is kept. */
export class ListWriter<Row> {
  readonly #session: Session;
  readonly #form: ListForm<Row>;
  readonly #document: JsonDocument | undefined;
  #layout: TableLayout<Row> | undefined;
  #count = 0;

  constructor(session: Session, form: ListForm<Row>) {
    this.#session = session;
    this.#form = form;
    this.#document = session.isJson ? new JsonDocument(session, form.key) : undefined;
  }

  /** Entries written so far. */
  get count(): number {
    return this.#count;
  }

  /** Writes further entries. The widths of a table are those of the first ones. */
  write(rows: readonly Row[]): void {
    if (rows.length === 0) return;
    this.#count += rows.length;
    const { columns, json } = this.#form;
    if (this.#document) {
      for (const row of rows) this.#document.add(json ? json(row) : recordJson(columns, row, this.#session));
      return;
    }
    if (!this.#layout) {
      this.#layout = layOutTable(columns, rows, this.#session);
      this.#session.line(this.#layout.header);
    }
    this.#session.lines(this.#layout.lines(rows));
  }

  /** Ends the list. */
  end({ hasMore, how = "--limit shows more", rest, failure }: ListEnd): void {
    this.#document?.end({
      ...(hasMore === undefined ? {} : { hasMore }),
      ...rest,
      ...(failure ? { error: failureJson(failure) } : {}),
    });
    if (!this.#document && this.#count === 0 && !failure) this.#session.line(this.#form.nothing);
    if (hasMore) {
      const these = this.#count === 1 ? "this one" : `these ${this.#count}`;
      this.#session.note(`There are more than ${these}: ${how}.`);
    }
  }
}

/**
 * Shows a list that is all there.
 *
 * @param limit how many of them at most; `rows` has one more where there are more
 */
export function printList<Row>(
  session: Session,
  form: ListForm<Row>,
  rows: readonly Row[],
  limit?: number,
): void {
  const list = new ListWriter(session, form);
  const shown = rows.slice(0, limit);
  list.write(shown);
  const last = shown.at(-1);
  list.end({
    hasMore: limit === undefined ? undefined : rows.length > limit,
    ...(form.nextPage && last ? { how: `--limit shows more, ${form.nextPage(last)} the next ones` } : {}),
  });
}
