import { type Config, wayOfFacility } from "../../../config/config.ts";
import { asFailure, Failure } from "../../../core/failures.ts";
import { findList, type ListKind } from "../../../core/service-catalogue.ts";
import type { Surface } from "../../../core/surface.ts";
import { hideRecord, OWNERS } from "../../../operator/hide-record.ts";
import type { FilterRemark, ListQuestion } from "../../../service/lists/reads.ts";
import {
  normalizeStatus,
  normalizeType,
  type RawObject,
  theirStatusWords,
  toServiceWords,
} from "../../../service/values.ts";
import { exitStatusOf } from "../../exit-status.ts";
import { facilityIdOf, readConfig, recordRead, withService } from "../../open.ts";
import { ListWriter } from "../../output/list.ts";
import { type Report, withProgress } from "../../output/progress.ts";
import type { Act } from "../../session.ts";
import { columnsOf } from "./columns.ts";

interface ListOptions {
  readonly facility?: string;
  readonly status?: string;
  readonly type?: string;
  readonly subject?: string;
  readonly surface?: Surface;
  readonly filter?: readonly string[];
  readonly limit?: number;
  readonly all?: boolean;
}

/** Shown unless more is asked for. */
const DEFAULT_LIMIT = 100;

const REMARKS: Readonly<Record<FilterRemark, string>> = {
  ignored: "The service ignored the filter",
  refused: "The service refuses the filter",
  "not sent": "The service was not asked to filter by",
};

/** `service subjects`, `requests`, `procedures`, `containers` and `storage`: shows the list while it is read. */
export function listAct(list: ListKind): Act {
  return async (session, options: ListOptions) => {
    const config = readConfig(session);
    const question = toQuestion(list, options, config);
    await recordRead(session, config, `service ${list}`, Object.keys(question.filters));
    const output = new ListWriter<RawObject>(session, {
      key: list,
      columns: columnsOf(list, question.surface, config),
      nothing: `No ${list}.`,
      json: (record) => record,
    });
    const limit = options.all === true ? Number.POSITIVE_INFINITY : (options.limit ?? DEFAULT_LIMIT);
    const remarks = new Map<string, FilterRemark>();
    /** Filters whose field no entry of any page had. */
    let unchecked: readonly string[] | undefined;
    let hasMore = false;
    const readAll = (report: Report) =>
      withService(session, config, async (service) => {
        for await (const page of service.readList(question, new AbortController().signal)) {
          const room = limit - output.count;
          for (const [filter, remark] of page.remarks) remarks.set(filter, remark);
          if (page.listed > 0)
            unchecked = (unchecked ?? page.unchecked).filter((each) => page.unchecked.includes(each));
          const shown = page.entries.slice(0, room);
          output.write(
            shown.map((entry) => hideRecord(entry, OWNERS[list], session.mayShowPhi) as RawObject),
          );
          report(output.count);
          hasMore = page.entries.length > room;
          if (hasMore || !(await session.isRead())) break;
        }
      });
    const failure = await withProgress(
      session,
      { what: `service ${list}`, nouns: "entries", isPrinting: true },
      readAll,
    ).then(() => undefined, asFailure);
    const { count } = output;
    const filterRemarks = [...remarks].map(([filter, remark]) => ({ filter, remark }));
    const rest = { count, surface: question.surface, filterRemarks, uncheckedFilters: unchecked ?? [] };
    output.end({ hasMore, how: "--limit shows more, --all shows all", rest, failure });
    for (const [filter, remark] of remarks)
      session.note(`${REMARKS[remark]} ${filter}: its entries were filtered here, which takes longer.`);
    for (const filter of unchecked ?? []) {
      const why = "so nobody knows whether the service applied it";
      session.note(`No entry has the field of the filter ${filter}, ${why}.`);
    }
    if (!failure) return undefined;
    // A JSON document holds its own error, so that it stays one document.
    if (session.isJson) return exitStatusOf(failure.code);
    if (count > 0) session.note(`The list breaks off here, after ${count}.`);
    throw failure;
  };
}

/** What the options ask of the service. @throws Failure CLI_USAGE for options that contradict each other. */
function toQuestion(list: ListKind, options: ListOptions, config: Config): ListQuestion {
  if (options.all === true && options.limit !== undefined)
    throw usage("--all and --limit say different amounts; choose one");
  const surface = surfaceOf(list, options, config);
  const filters = new Map<string, string | number>();
  const unsent: string[] = [];
  const add = (name: string, value: string | number, option: string) => {
    if (filters.has(name)) throw usage(`${option} sets ${name}, which is set already`);
    filters.set(name, value);
  };
  const words = toServiceWords(config.service.words);
  const facilityId = facilityIdOf(config, options.facility);
  if (facilityId !== undefined) add("facilityId", facilityId, "--facility");
  if (options.status !== undefined) {
    const status = normalizeStatus(options.status, words);
    const theirs = theirStatusWords(status, words);
    // Several words over there mean this one, and one call asks for one of them.
    if (theirs.length > 1) unsent.push("status");
    add("status", theirs.length === 1 ? (theirs[0] ?? status) : status, "--status");
  }
  if (options.type !== undefined) {
    // The request surface writes types of procedures in lower case, or its own way: they are compared here.
    if (list === "procedures" && surface === "request") unsent.push("type");
    add("type", normalizeType(options.type, words), "--type");
  }
  if (options.subject !== undefined) add(subjectFilter(list, surface), options.subject, "--subject");
  for (const text of options.filter ?? []) {
    const [, name, value = ""] = /^([A-Za-z][\w.]*)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || name === "page" || name === "perPage") {
      const examples = "code=S-1, lastName_like=ro or createdAt_from=2026-11-01";
      throw usage(`--filter: expected FIELD=VALUE, such as ${examples}`);
    }
    add(name, wholeDay(name, value), "--filter");
  }
  return { list, surface, filters: Object.fromEntries(filters), unsent };
}

/** The surface to read from: the one asked for, else the facility's or the configured one where it has such a list. */
function surfaceOf(list: ListKind, { surface, facility }: ListOptions, config: Config): Surface {
  const facilityId = facility === undefined ? undefined : config.facilityIdByCode.get(facility);
  const way = facilityId === undefined ? config.service : wayOfFacility(config, facilityId);
  const wanted = surface ?? way.surface;
  return findList(list, wanted) === undefined ? "request" : wanted;
}

/** By which filter a list finds a subject. @throws Failure CLI_USAGE where entries name none. */
function subjectFilter(list: ListKind, surface: Surface): string {
  if (list === "subjects") return "code";
  if (list !== "procedures" || surface !== "request") return "subjectCode";
  const words = "list requests --subject, which name their procedures";
  throw usage(`procedures of the request surface name no subject; ${words}`);
}

/** A bare date as the end of a range of times means all of that day (UTC); a service may take it for its midnight. */
function wholeDay(name: string, value: string): string {
  return name.endsWith("At_to") && /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T23:59:59.999Z` : value;
}

function usage(message: string): Failure {
  return new Failure("CLI_USAGE", message);
}
