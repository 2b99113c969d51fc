import type { Command } from "commander";
import { openService } from "../app/service.ts";
import { asFailure, type Failure } from "../core/failures.ts";
import type { ServiceClient } from "../service/client.ts";
import type { FilterRemark, ListQuestion, ReadableList, ReadPage } from "../service/reads.ts";
import type { RawObject } from "../service/values.ts";
import { readConfig } from "./configuration.ts";
import { type ExitStatus, exitStatusOf } from "./exit-status.ts";
import { JsonOutput, type ListOutput, TableOutput } from "./list-output.ts";
import { noteMore } from "./more-note.ts";
import { Progress } from "./progress.ts";
import { recordShown } from "./service-audit.ts";
import { columnsOf } from "./service-columns.ts";
import { hideRecord, OWNERS } from "./service-hidden.ts";
import { type ListOptions, toQuestion } from "./service-question.ts";
import type { Session } from "./session.ts";

/** Shown unless more is asked for. */
const DEFAULT_LIMIT = 100;

/** `service subjects`, `requests`, `procedures`, `containers` and `storage`: streams the list while it is read. */
export function listCommand(list: ReadableList) {
  return async (session: Session, command: Command): Promise<ExitStatus | undefined> => {
    const options = command.opts<ListOptions>();
    const config = readConfig(session);
    const question = toQuestion(list, options, config);
    await recordShown(session, config, `service ${list}`, Object.keys(question.filters));
    const output = session.isJson
      ? new JsonOutput(session, list)
      : new TableOutput(session, columnsOf(list, question.surface, config), {
          isWide: options.wide === true,
          nothing: `No ${list}.`,
        });
    const service = openService(config, { clock: session.clock, logger: session.logger });
    try {
      return await new ListReading(session, service, question, output).run(options);
    } finally {
      await service.close();
    }
  };
}

/** One list on its way from the service to the person. */
class ListReading {
  readonly #session: Session;
  readonly #service: ServiceClient;
  readonly #question: ListQuestion;
  readonly #output: ListOutput;
  readonly #progress: Progress;
  readonly #remarks = new Map<string, FilterRemark>();
  readonly #unchecked = new Set<string>();
  #hasChecked = false;
  #count = 0;
  #listed = 0;

  constructor(session: Session, service: ServiceClient, question: ListQuestion, output: ListOutput) {
    this.#session = session;
    this.#service = service;
    this.#question = question;
    this.#output = output;
    this.#progress = new Progress(session);
  }

  async run(options: ListOptions): Promise<ExitStatus | undefined> {
    const limit =
      options.all === true || options.page !== undefined ? undefined : (options.limit ?? DEFAULT_LIMIT);
    let hasMore = false;
    let failure: Failure | undefined;
    try {
      hasMore = await this.#readAll(options.page, limit);
    } catch (error) {
      failure = asFailure(error);
    }
    this.#progress.clear();
    const { surface } = this.#question;
    const filterRemarks = [...this.#remarks].map(([filter, remark]) => ({ filter, remark }));
    const uncheckedFilters = [...this.#unchecked];
    this.#output.end({
      count: this.#count,
      hasMore,
      more: { surface, filterRemarks, uncheckedFilters },
      failure,
    });
    this.#tellRemarks();
    if (hasMore) noteMore(this.#session, this.#count, "--limit shows more, --all shows all");
    if (!failure) return undefined;
    // A JSON document holds its own error, so that it stays one document.
    if (this.#session.isJson) return exitStatusOf(failure.code);
    if (this.#count > 0) this.#session.note(`The list breaks off here, after ${this.#count}.`);
    throw failure;
  }

  /** Gives whether there is more than the limit let through. */
  async #readAll(page: number | undefined, limit: number | undefined): Promise<boolean> {
    const signal = new AbortController().signal;
    if (page !== undefined) {
      await this.#take(await this.#service.readPage(this.#question, page, signal), undefined);
      return false;
    }
    for await (const each of this.#service.readList(this.#question, signal)) {
      const { hasMore, isWanted } = await this.#take(each, limit);
      if (hasMore || !isWanted) return hasMore;
    }
    return false;
  }

  async #take(
    page: ReadPage,
    limit: number | undefined,
  ): Promise<{ readonly hasMore: boolean; readonly isWanted: boolean }> {
    const room = limit === undefined ? page.entries.length : limit - this.#count;
    const shown = page.entries.slice(0, room);
    for (const [filter, remark] of page.remarks) this.#remarks.set(filter, remark);
    this.#noteUnchecked(page);
    this.#count += shown.length;
    this.#listed += page.listed;
    this.#progress.clear();
    const { list } = this.#question;
    const hidden = shown.map(
      (entry) => hideRecord(entry, OWNERS[list], this.#session.mayShowPhi) as RawObject,
    );
    this.#output.write(hidden);
    const all = this.#listed === this.#count ? "" : ` of ${this.#listed} looked at`;
    this.#progress.show(`${this.#count} ${list}${all} …`);
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

  #tellRemarks(): void {
    for (const [filter, remark] of this.#remarks)
      this.#session.note(`${REMARKS[remark]} ${filter}: ${MENDED}`);
    for (const filter of this.#unchecked) {
      this.#session.note(
        `No entry tells the field of the filter ${filter}, so whether it was followed can't be told.`,
      );
    }
  }
}

const REMARKS: Readonly<Record<FilterRemark, string>> = {
  ignored: "The service ignored the filter",
  refused: "The service refuses the filter",
  "not sent": "The service was not asked to filter by",
};
const MENDED = "its entries were filtered here, which takes longer.";
