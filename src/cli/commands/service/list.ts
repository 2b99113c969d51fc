import type { Command } from "commander";
import { asFailure, type Failure } from "../../../core/failures.ts";
import type { ServiceClient } from "../../../service/client.ts";
import type { FilterRemark, ListQuestion, ReadableList, ReadPage } from "../../../service/reads.ts";
import type { RawObject } from "../../../service/values.ts";
import { type ExitStatus, exitStatusOf } from "../../exit-status.ts";
import { readConfig, recordShown, withService } from "../../open.ts";
import { ListWriter } from "../../output/list.ts";
import type { Column } from "../../output/table.ts";
import type { Act, Session } from "../../session.ts";
import { columnsOf, otherFields } from "./columns.ts";
import { hideRecord, OWNERS } from "./hidden.ts";
import { type ListOptions, toQuestion } from "./question.ts";

/** Shown unless more is asked for. */
const DEFAULT_LIMIT = 100;

/** `service subjects`, `requests`, `procedures`, `containers` and `storage`: streams the list while it is read. */
export function listAct(list: ReadableList): Act {
  return async (session, command: Command) => {
    const options = command.opts<ListOptions>();
    const config = readConfig(session);
    const question = toQuestion(list, options, config);
    await recordShown(session, config, `service ${list}`, Object.keys(question.filters));
    const columns = columnsOf(list, question.surface, config);
    const other: Column<RawObject> = {
      title: "other",
      show: (record) => otherFields(record, columns).map((field) => field.join("=")),
    };
    const output = new ListWriter<RawObject>(options.wide ? { ...session, width: undefined } : session, {
      key: list,
      columns: options.wide ? [...columns, other] : columns,
      nothing: `No ${list}.`,
      json: (record) => record,
    });
    return withService(session, config, (service) =>
      new ListReading(session, service, question, output).run(options),
    );
  };
}

/** One list on its way from the service to the person. */
class ListReading {
  readonly #session: Session;
  readonly #service: ServiceClient;
  readonly #question: ListQuestion;
  readonly #output: ListWriter<RawObject>;
  readonly #remarks = new Map<string, FilterRemark>();
  readonly #unchecked = new Set<string>();
  #hasChecked = false;

  constructor(
    session: Session,
    service: ServiceClient,
    question: ListQuestion,
    output: ListWriter<RawObject>,
  ) {
    this.#session = session;
    this.#service = service;
    this.#question = question;
    this.#output = output;
  }

  async run({ all, page, limit }: ListOptions): Promise<ExitStatus | undefined> {
    const most = all === true || page !== undefined ? undefined : (limit ?? DEFAULT_LIMIT);
    let hasMore = false;
    let failure: Failure | undefined;
    try {
      hasMore = await this.#readAll(page, most);
    } catch (error) {
      failure = asFailure(error);
    }
    const { count } = this.#output;
    const { surface } = this.#question;
    const filterRemarks = [...this.#remarks].map(([filter, remark]) => ({ filter, remark }));
    const rest = { count, surface, filterRemarks, uncheckedFilters: [...this.#unchecked] };
    this.#output.end({ hasMore, how: "--limit shows more, --all shows all", rest, failure });
    this.#noteRemarks();
    if (!failure) return undefined;
    // A JSON document holds its own error, so that it stays one document.
    if (this.#session.isJson) return exitStatusOf(failure.code);
    if (count > 0) this.#session.note(`The list breaks off here, after ${count}.`);
    throw failure;
  }

  /** Gives whether there is more than the limit let through. */
  async #readAll(page: number | undefined, limit: number | undefined): Promise<boolean> {
    const signal = new AbortController().signal;
    if (page !== undefined) {
      await this.#show(await this.#service.readPage(this.#question, page, signal), undefined);
      return false;
    }
    for await (const each of this.#service.readList(this.#question, signal)) {
      const { hasMore, isWanted } = await this.#show(each, limit);
      if (hasMore || !isWanted) return hasMore;
    }
    return false;
  }

  async #show(
    page: ReadPage,
    limit: number | undefined,
  ): Promise<{ readonly hasMore: boolean; readonly isWanted: boolean }> {
    const { list } = this.#question;
    const room = limit === undefined ? page.entries.length : limit - this.#output.count;
    for (const [filter, remark] of page.remarks) this.#remarks.set(filter, remark);
    this.#noteUnchecked(page);
    const shown = page.entries.slice(0, room);
    this.#output.write(
      shown.map((entry) => hideRecord(entry, OWNERS[list], this.#session.mayShowPhi) as RawObject),
    );
    const isWanted = await this.#session.isRead();
    return { hasMore: page.entries.length > room, isWanted };
  }

  /** A filter stays unchecked as long as no page had its field. */
  #noteUnchecked({ listed, unchecked }: ReadPage): void {
    if (listed === 0) return;
    if (!this.#hasChecked) for (const filter of unchecked) this.#unchecked.add(filter);
    else
      for (const filter of this.#unchecked) if (!unchecked.includes(filter)) this.#unchecked.delete(filter);
    this.#hasChecked = true;
  }

  #noteRemarks(): void {
    for (const [filter, remark] of this.#remarks) {
      const why = `${REMARKS[remark]} ${filter}`;
      this.#session.note(`${why}: its entries were filtered here, which takes longer.`);
    }
    for (const filter of this.#unchecked) {
      this.#session.note(
        `No entry has the field of the filter ${filter}, so nobody knows whether the service applied it.`,
      );
    }
  }
}

const REMARKS: Readonly<Record<FilterRemark, string>> = {
  ignored: "The service ignored the filter",
  refused: "The service refuses the filter",
  "not sent": "The service was not asked to filter by",
};
