import { type Config, wayOfFacility } from "../../../config/config.ts";
import { Failure } from "../../../core/failures.ts";
import type { Surface } from "../../../core/surface.ts";
import { type ListQuestion, pathOfList, type ReadableList } from "../../../service/reads.ts";
import { normalizeStatus, normalizeType } from "../../../service/values.ts";
import { theirStatusWords, toServiceWords } from "../../../service/words.ts";

/** The options of a list command. */
export interface ListOptions {
  readonly facility?: string;
  readonly status?: string;
  readonly type?: string;
  readonly subject?: string;
  readonly surface?: Surface;
  readonly filter?: readonly string[];
  readonly limit?: number;
  readonly all?: boolean;
  readonly page?: number;
  readonly perPage?: number;
  readonly wide?: boolean;
}

/** What the options ask of the service. @throws Failure CLI_USAGE for options that contradict each other. */
export function toQuestion(list: ReadableList, options: ListOptions, config: Config): ListQuestion {
  requireOneAmount(options);
  const surface = surfaceOf(list, options, config);
  const filters = new Map<string, string | number>();
  const unsent: string[] = [];
  const add = (name: string, value: string | number, option: string) => {
    if (filters.has(name)) throw usage(`${option} sets ${name}, which is set already`);
    filters.set(name, value);
  };
  const words = toServiceWords(config.service.words);
  if (options.facility !== undefined) add("facilityId", facilityIdOf(options.facility, config), "--facility");
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
    const [name, value] = splitFilter(text);
    add(name, wholeDay(name, value), "--filter");
  }
  return { list, surface, filters: Object.fromEntries(filters), unsent, perPage: options.perPage };
}

/** The surface to read from: the one asked for, else the facility's or the configured one where it has such a list. */
function surfaceOf(list: ReadableList, { surface, facility }: ListOptions, config: Config): Surface {
  const facilityId = facility === undefined ? undefined : config.facilityIdByCode.get(facility);
  const way = facilityId === undefined ? config.service : wayOfFacility(config, facilityId);
  const wanted = surface ?? way.surface;
  return pathOfList(list, wanted) === undefined ? "request" : wanted;
}

function requireOneAmount({ all, limit, page }: ListOptions): void {
  const given = [
    ...(all === true ? ["--all"] : []),
    ...(limit === undefined ? [] : ["--limit"]),
    ...(page === undefined ? [] : ["--page"]),
  ];
  if (given.length > 1) throw usage(`${given.join(" and ")} say different amounts; choose one`);
}

function facilityIdOf(name: string, config: Config): number {
  const id = config.facilityIdByCode.get(name);
  if (id !== undefined) return id;
  throw usage(
    `--facility ${name}: not configured; known are ${[...config.facilityIdByCode.keys()].join(", ")}`,
  );
}

/** By which filter a list finds a subject. @throws Failure CLI_USAGE where entries name none. */
function subjectFilter(list: ReadableList, surface: Surface): string {
  if (list === "subjects") return "code";
  if (list === "procedures" && surface === "request") {
    throw usage(
      "procedures of the request surface name no subject; list requests --subject, which name their procedures",
    );
  }
  return "subjectCode";
}

function splitFilter(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([A-Za-z][\w.]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw usage(
      "--filter: expected NAME=VALUE, such as code=S-1, lastName_like=ro or createdAt_from=2026-11-01",
    );
  }
  if (name === "page" || name === "perPage") {
    throw usage(`--filter ${name}: that is no filter; use ${name === "page" ? "--page" : "--per-page"}`);
  }
  return [name, value];
}

/** A bare date as the end of a range of times means all of that day (UTC); a service may take it for its midnight. */
function wholeDay(name: string, value: string): string {
  return name.endsWith("At_to") && /^\d{4}-\d{2}-\d{2}$/.test(value) ? `${value}T23:59:59.999Z` : value;
}

function usage(message: string): Failure {
  return new Failure("CLI_USAGE", message);
}
