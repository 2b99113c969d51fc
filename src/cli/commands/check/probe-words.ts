import type { TokenLife } from "../../../service/http/token.ts";
import type { ListFacts, ProbedFilter, UnknownId } from "../../../service/probe/probe.ts";
import { roundToUnit } from "../../output/times.ts";
import type { Finding } from "./report.ts";

/** What the configuration says already, so that only what would change is suggested. */
export interface KnownSettings {
  readonly perPage: number;
  readonly listEnvelope: string;
  readonly listEnvelopes: Readonly<Record<string, string>>;
  readonly filters: "auto" | "none" | readonly string[];
}

const EMPTY = "can't tell yet: the list is empty";
const SHORT = "can't tell yet: the list is too short";

/** What the probed lists showed, a line for each open point. Names of fields and words, never values of records. */
export function listFindings(lists: readonly ListFacts[], settings: KnownSettings): Finding[] {
  const read = lists.filter(({ failure }) => failure === undefined);
  const filled = read.filter(({ length }) => length > 0);
  if (read.length === 0) return [];
  return [
    envelopeFinding(read, settings),
    pagingFinding(read, settings),
    filterFinding(read, settings),
    point(
      "sort order",
      grouped(read, ({ length, order }) => (length === 0 ? EMPTY : (order ?? SHORT))),
    ),
    idFinding(read),
    point(
      "short entries",
      grouped(read, ({ length, missingFields }) => {
        if (length === 0) return EMPTY;
        return missingFields.length === 0
          ? "entries are whole"
          : `entries leave out ${missingFields.join(", ")}`;
      }),
    ),
    ...wordFindings(filled),
  ];
}

/** `service, what`, and what was found. */
function point(what: string, detail: string, wouldSet?: string): Finding {
  return { subject: `service, ${what}`, result: "ok", detail, wouldSet };
}

/** `by id (requests, procedures); in no order (storage)`: lists with the same words stand together. */
function grouped(lists: readonly ListFacts[], words: (facts: ListFacts) => string): string {
  const groups = Map.groupBy(lists, words);
  return [...groups]
    .map(([text, group]) => `${text} (${group.map(({ title }) => title).join(", ")})`)
    .join("; ");
}

function envelopeFinding(lists: readonly ListFacts[], settings: KnownSettings): Finding {
  const what = "list envelope";
  const detail = grouped(lists, ({ envelope = "" }) => envelopeInWords(envelope));
  const isWrong = ({ endpoint, envelope }: ListFacts) => {
    const configured = settings.listEnvelopes[endpoint] ?? settings.listEnvelope;
    return configured !== "auto" && envelope !== configured && envelope !== "nothing at all";
  };
  const seen = [...new Set(lists.flatMap(({ envelope }) => envelope ?? []))];
  const [only] = seen;
  const suggestion =
    seen.length === 1 && only !== undefined
      ? `service.listEnvelope: ${settingOf(only)}`
      : `service.listEnvelopes: { ${lists
          .flatMap(({ title, envelope }) =>
            envelope === undefined ? [] : [`${listName(title)}: ${settingOf(envelope)}`],
          )
          .join(", ")} }`;
  if (!lists.some(isWrong))
    return point(what, detail, settings.listEnvelope === "auto" ? suggestion : undefined);
  return {
    subject: `service, ${what}`,
    result: "failed",
    detail: `${detail}, which is not what the configuration says`,
    hint: `Set ${suggestion}, or leave it at auto.`,
    wouldSet: suggestion,
  };
}

function envelopeInWords(envelope: string): string {
  if (envelope === "nothing at all") return "an empty answer";
  return envelope === "array" ? "a bare array" : `under "${envelope}"`;
}

/** As it stands in the configuration. */
function settingOf(envelope: string): string {
  if (["array", "data", "items"].includes(envelope)) return envelope;
  return `{ key: ${/^[\w.]+$/.test(envelope) ? envelope : JSON.stringify(envelope)} }`;
}

/** `externalProcedures` of `external procedures`: how the configuration names the list. */
function listName(title: string): string {
  return title.replace(/ (\w)/g, (_, letter: string) => letter.toUpperCase());
}

function pagingFinding(lists: readonly ListFacts[], { perPage }: KnownSettings): Finding {
  const detail = grouped(lists, ({ length, refused, cap }) => {
    if (refused.includes("page")) return "without paging, the list comes as a whole";
    const size = refused.find((each) => each.startsWith("perPage="))?.slice("perPage=".length);
    if (size !== undefined && cap.kind === "unknown") return `perPage ${size} is refused`;
    if (length === 0) return EMPTY;
    if (cap.kind === "unknown") return "can't tell yet: the list is shorter than a page";
    const refusal = size === undefined ? "" : `, ${size} is refused`;
    return cap.kind === "cap" ? `at most ${cap.size} a page` : `no cap up to ${cap.size} a page${refusal}`;
  });
  const caps = lists.flatMap(({ cap }) => (cap.kind === "cap" ? [cap.size] : []));
  const smallest = Math.min(...caps);
  const isRefused = lists.some(({ refused }) => refused.includes(`perPage=${perPage}`));
  if (isRefused) return point("page size", detail, "service.perPage: 10");
  const isWorth = caps.length > 0 && smallest !== perPage;
  return point("page size", detail, isWorth ? `service.perPage: ${smallest}` : undefined);
}

function filterFinding(lists: readonly ListFacts[], settings: KnownSettings): Finding {
  const words: Readonly<Record<ProbedFilter, string>> = {
    honoured: "honoured",
    ignored: "ignored",
    refused: "refused",
  };
  const detail = lists
    .map(({ title, length, filters }) => {
      if (length === 0) return `${title}: ${EMPTY}`;
      const found = [...filters].map(([name, finding]) => `${name} ${words[finding]}`);
      return `${title}: ${found.join(", ") || "not tried"}`;
    })
    .join("; ");
  const all = lists.flatMap(({ filters }) => [...filters]);
  const honoured = [
    ...new Set(all.flatMap(([name, found]) => (found === "honoured" ? [fieldOf(name)] : []))),
  ];
  const isRefusing = all.some(([, found]) => found === "refused");
  const suggestion = honoured.length === 0 ? "none" : `[${honoured.join(", ")}]`;
  // What an empty list would have shown may be honoured there; a setting that leaves it out would cost whole lists.
  const isAllTold = lists.every(({ length }) => length > 0) || honoured.length > 0;
  const isWorth = isRefusing && isAllTold && settings.filters === "auto";
  return point("filters", detail, isWorth ? `service.filters: ${suggestion}` : undefined);
}

const fieldOf = (filter: string) => filter.replace(/_(like|from|to)$/, "");

function idFinding(lists: readonly ListFacts[]): Finding {
  const detail = grouped(lists, ({ length, ids }) => {
    if (length === 0) return EMPTY;
    return ids === undefined
      ? "entries have no id"
      : `as ${ids === "number" ? "numbers" : "texts of digits"}`;
  });
  const unreadable = lists.filter(({ hasUnreadableIds }) => hasUnreadableIds);
  if (unreadable.length === 0) return point("ids", detail);
  return {
    subject: "service, ids",
    result: "failed",
    detail: `some can't be read exactly: they are no whole numbers up to ${Number.MAX_SAFE_INTEGER} (${unreadable.map(({ title }) => title).join(", ")})`,
    hint: "Ask the service's operator; orders whose ids can't be read exactly would be lost from sight.",
  };
}

function wordFindings(lists: readonly ListFacts[]): Finding[] {
  const findings: Finding[] = [];
  const told = (what: string, of: (facts: ListFacts) => readonly string[]) => {
    const some = lists.filter((facts) => of(facts).length > 0);
    return some.length === 0
      ? undefined
      : point(
          what,
          grouped(some, (facts) => of(facts).join(", ")),
        );
  };
  const statuses = told("unknown statuses", ({ unknownStatuses }) => unknownStatuses);
  const types = told("unknown types", ({ unknownTypes }) => unknownTypes);
  const fields = told("unknown fields", ({ unknownFields }) => unknownFields);
  if (statuses)
    findings.push({
      ...statuses,
      result: "warning",
      hint: "Where such a word means one of the specification's, say so under service.words.status.",
    });
  if (types)
    findings.push({
      ...types,
      result: "warning",
      hint: "Where such a word means one of the specification's, say so under service.words.type.",
    });
  if (fields) findings.push(fields);
  return findings;
}

/** How the service says that it has no such record. */
export function unknownIdFinding(told: UnknownId | undefined): Finding {
  const what = "error shape";
  if (!told) return point(what, "can't tell: a record with the id that was tried exists");
  if ("failure" in told) {
    return {
      ...point(
        what,
        `an unknown id is answered with something else than "not found": ${told.failure.message}`,
      ),
      result: "warning",
      hint: "Orders whose record is gone can't be told from an outage; ask the service's operator.",
    };
  }
  const body = { json: "JSON", html: "an HTML page", empty: "no body", other: "a text" }[told.shape];
  const code = told.errorCode === undefined ? "without an error code" : `with the code ${told.errorCode}`;
  const detail = `an unknown id is answered with status ${told.status}, ${body}${told.shape === "json" ? ` ${code}` : ""}`;
  return point(what, detail);
}

/** How long a token lives. */
export function tokenLifeFinding(life: TokenLife | undefined): Finding {
  const what = "token lifetime";
  if (!life) return point(what, "not told: the configured API token is used for as long as it is taken");
  const words = roundToUnit(life.lifeMs);
  return point(
    what,
    life.isAssumed
      ? `not told by the token endpoint; ${words} is assumed`
      : `${words}, as the token endpoint says`,
  );
}

/** A clock this far off makes times of the two sides hard to compare. */
const CLOCK_TOLERANCE_MS = 300_000;

/** How far the clocks differ, by the service's `Date` headers. */
export function clockFinding(skewMs: number | undefined): Finding {
  const what = "clock";
  if (skewMs === undefined) return point(what, "can't tell: the service sends no Date");
  const isFar = Math.abs(skewMs) > CLOCK_TOLERANCE_MS;
  // The header has whole seconds.
  if (Math.abs(skewMs) < 2_000) return point(what, "the service's agrees with this machine's");
  const detail = `the service's is ${roundToUnit(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} this machine's`;
  if (!isFar) return point(what, detail);
  const hint = "Set this machine's clock by a time server, or tell the service's operator.";
  return { ...point(what, detail), result: "warning", hint };
}
