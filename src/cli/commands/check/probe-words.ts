import { FAILURES } from "../../../core/failures.ts";
import { findListAt, findListName } from "../../../core/service-catalogue.ts";
import { roundToUnit } from "../../../operator/times.ts";
import type { TokenLife } from "../../../service/http/token.ts";
import { DEFAULT_PER_PAGE } from "../../../service/lists/capabilities.ts";
import { envelopeOf, isUnpaged } from "../../../service/lists/list-query.ts";
import type { ListFacts, UnknownId } from "../../../service/probe/probe.ts";
import type { InventoryFacts } from "../../../service/probe/probe-inventory.ts";
import type { ServiceSettings } from "../../../service/settings.ts";
import { type Finding, failed, ok, warning } from "./report.ts";

/** What the configuration says already, so that only what would change is suggested. */
export type KnownSettings = Pick<
  ServiceSettings,
  "perPage" | "listEnvelope" | "listEnvelopes" | "filters" | "unpaged"
>;

const EMPTY = "not known yet: the list is empty";

/** What the probed lists showed, a line for each open point. Words, never values of records. */
export function listFindings(lists: readonly ListFacts[], settings: KnownSettings): Finding[] {
  const read = lists.filter(({ failure }) => failure === undefined);
  const filled = read.filter(({ length }) => length > 0);
  if (read.length === 0) return [];
  return [
    envelopeFinding(read, settings),
    pagingFinding(read, settings),
    filterFinding(read, settings),
    idFinding(read),
    ...wordFindings(filled),
  ];
}

/** `service, what`, and what was found. */
function point(what: string, detail: string, wouldSet?: string): Finding {
  return { ...ok(`service, ${what}`, detail), wouldSet };
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
    const configured = envelopeOf(endpoint, settings);
    return configured !== "auto" && envelope !== configured && envelope !== "nothing at all";
  };
  const seen = [...new Set(lists.flatMap(({ envelope }) => envelope ?? []))];
  const [only] = seen;
  const suggestion =
    seen.length === 1 && only !== undefined
      ? `service.listEnvelope: ${settingOf(only)}`
      : `service.listEnvelopes: { ${lists
          .flatMap(({ endpoint, envelope }) =>
            envelope === undefined ? [] : [`${findListName(endpoint)}: ${settingOf(envelope)}`],
          )
          .join(", ")} }`;
  if (!lists.some(isWrong))
    return point(what, detail, settings.listEnvelope === "auto" ? suggestion : undefined);
  const wrong = `${detail}, which is not what the configuration says`;
  const hint = `Set ${suggestion}, or leave it at auto.`;
  return { ...failed(`service, ${what}`, wrong, hint), wouldSet: suggestion };
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

function pagingFinding(lists: readonly ListFacts[], settings: KnownSettings): Finding {
  const mayBeCut = ({ endpoint, surface, length, refused }: ListFacts) =>
    refused.includes("page") &&
    length === DEFAULT_PER_PAGE &&
    surface === "request" &&
    !isUnpaged(endpoint, settings);
  const detail = grouped(lists, (facts) => {
    const { length, refused, cap } = facts;
    if (mayBeCut(facts)) return `without paging, and with just ${length} entries, so there may be more`;
    if (refused.includes("page")) return "without paging, the list comes as a whole";
    const size = refused.find((each) => each.startsWith("perPage="))?.slice("perPage=".length);
    if (size !== undefined && cap.kind === "unknown") return `perPage ${size} is refused`;
    if (length === 0) return EMPTY;
    if (cap.kind === "unknown") return "not known yet: the list is shorter than a page";
    const refusal = size === undefined ? "" : `, ${size} is refused`;
    return cap.kind === "cap" ? `at most ${cap.size} a page` : `no cap up to ${cap.size} a page${refusal}`;
  });
  if (lists.some(mayBeCut)) return warning("service, page size", detail, FAILURES.SERVICE_LIST_UNPAGED.hint);
  const caps = lists.flatMap(({ cap }) => (cap.kind === "cap" ? [cap.size] : []));
  const smallest = Math.min(...caps);
  const { perPage } = settings;
  const isRefused = lists.some(({ refused }) => refused.includes(`perPage=${perPage}`));
  if (isRefused) return point("page size", detail, "service.perPage: 10");
  const isWorth = caps.length > 0 && smallest !== perPage;
  return point("page size", detail, isWorth ? `service.perPage: ${smallest}` : undefined);
}

function filterFinding(lists: readonly ListFacts[], settings: KnownSettings): Finding {
  const detail = lists
    .map(({ title, length, filters }) => {
      if (length === 0) return `${title}: ${EMPTY}`;
      const found = [...filters].map(([name, finding]) => `${name} ${finding}`);
      return `${title}: ${found.join(", ") || "not tried"}`;
    })
    .join("; ");
  const isNobodys = ({ endpoint, filters, isSubjectMissing }: ListFacts) =>
    findListAt(endpoint)?.filters.includes("subjectCode") === true &&
    isSubjectMissing &&
    ["ignored", "refused"].includes(filters.get("subjectCode") ?? "");
  if (lists.some(isNobodys)) return warning("service, filters", detail, NOBODYS);
  const all = lists.flatMap(({ filters }) => [...filters]);
  const honoured = [
    ...new Set(all.flatMap(([name, found]) => (found === "honoured" ? [fieldOf(name)] : []))),
  ];
  const isRefusing = all.some(([, found]) => found === "refused");
  const suggestion = honoured.length === 0 ? "none" : `[${honoured.join(", ")}]`;
  // What an empty list would have shown may be honoured there; a setting that leaves it out would cost whole lists.
  const isAllKnown = lists.every(({ length }) => length > 0) || honoured.length > 0;
  const isWorth = isRefusing && isAllKnown && settings.filters === "auto";
  return point("filters", detail, isWorth ? `service.filters: ${suggestion}` : undefined);
}

const NOBODYS =
  "Containers are listed for no subject, so no retrieval can go out: ask the service's operator for the `subjectCode` filter, or for the subject in each entry.";

const fieldOf = (filter: string) => filter.replace(/_(like|from|to)$/, "");

function idFinding(lists: readonly ListFacts[]): Finding {
  const unreadable = lists.filter(({ hasUnreadableIds }) => hasUnreadableIds);
  const words = ({ length, ids }: ListFacts) => {
    if (length === 0) return EMPTY;
    return ids === undefined
      ? "entries have no id"
      : `as ${ids === "number" ? "numbers" : "texts of digits"}`;
  };
  if (unreadable.length === 0) return point("ids", grouped(lists, words));
  const rule = `they are no whole numbers up to ${Number.MAX_SAFE_INTEGER}`;
  const detail = `some can't be read exactly: ${rule} (${unreadable.map(({ title }) => title).join(", ")})`;
  const hint = "Ask the service's operator; orders whose ids can't be read exactly would be lost from sight.";
  return failed("service, ids", detail, hint);
}

function wordFindings(lists: readonly ListFacts[]): Finding[] {
  const unknown = (what: string, of: (facts: ListFacts) => readonly string[], setting: string): Finding[] => {
    const some = lists.filter((facts) => of(facts).length > 0);
    if (some.length === 0) return [];
    const detail = grouped(some, (facts) => of(facts).join(", "));
    const hint = `Where such a word means one of the specification's, say so under ${setting}.`;
    return [warning(`service, unknown ${what}`, detail, hint)];
  };
  return [
    ...unknown("statuses", ({ unknownStatuses }) => unknownStatuses, "service.words.status"),
    ...unknown("types", ({ unknownTypes }) => unknownTypes, "service.words.type"),
  ];
}

/** How the service says that it has no such record. */
export function unknownIdFinding(said: UnknownId | undefined): Finding {
  const what = "error shape";
  if (!said) return point(what, "not known: a record with the id that was tried exists");
  if ("failure" in said) {
    const detail = `an unknown id is answered with something else than "not found": ${said.failure.message}`;
    const hint =
      "An order whose record is gone looks like one in an outage then; ask the service's operator.";
    return warning(`service, ${what}`, detail, hint);
  }
  const body = { json: "JSON", html: "an HTML page", empty: "no body", other: "a text" }[said.shape];
  const code = said.errorCode === undefined ? "without an error code" : `with the code ${said.errorCode}`;
  const shape = said.shape === "json" ? `${body} ${code}` : body;
  return point(what, `an unknown id is answered with status ${said.status}, ${shape}`);
}

/** How long a token lives. */
export function tokenLifeFinding(life: TokenLife | undefined): Finding {
  const what = "token lifetime";
  if (!life) return point(what, "not known: the configured API token is used for as long as it is taken");
  const words = roundToUnit(life.lifeMs);
  const assumed = `the token endpoint does not say; ${words} is assumed`;
  return point(what, life.isAssumed ? assumed : `${words}, as the token endpoint says`);
}

/** A clock this far off makes times of the two sides hard to compare. */
const CLOCK_TOLERANCE_MS = 300_000;

/** How far the clocks differ, by the service's `Date` headers. */
export function clockFinding(skewMs: number | undefined): Finding {
  const what = "clock";
  if (skewMs === undefined) return point(what, "not known: the service sends no Date");
  const isFar = Math.abs(skewMs) > CLOCK_TOLERANCE_MS;
  // The header has whole seconds.
  if (Math.abs(skewMs) < 2_000) return point(what, "the service's agrees with this machine's");
  const detail = `the service's is ${roundToUnit(Math.abs(skewMs))} ${skewMs > 0 ? "ahead of" : "behind"} this machine's`;
  if (!isFar) return point(what, detail);
  const hint = "Set this machine's clock by a time server, or ask the service's operator to.";
  return warning(`service, ${what}`, detail, hint);
}

/** Whether places of containers come from inventories, and why not. */
export function inventoryFinding(facts: InventoryFacts, use: "auto" | "always"): Finding {
  const singly = "so places are asked for one by one";
  switch (facts.kind) {
    case "empty":
      return point("inventory", "not known yet: nothing is in it");
    case "refused":
      return point("inventory", `can't be read (${facts.failure.code}), ${singly}`);
    case "unknown":
      return point("inventory", `shows no places, or in a form that is not recognised, ${singly}`);
    case "places":
      break;
  }
  const found = AGREEMENTS[facts.agreement ?? "none"];
  if (facts.agreement === "other") {
    const { storageId, containerId } = facts;
    const compare = `Compare \`cryobridge service inventory ${storageId}\` with \`cryobridge service location ${containerId}\`.`;
    const hint = `${compare} Where a field is misread, name the right ones in service.inventory.fields; otherwise set service.inventory: none.`;
    return warning("service, inventory", use === "always" ? found : `${found}, ${singly}`, hint);
  }
  if (facts.agreement === "same" || use === "always") return point("inventory", found);
  return point("inventory", `${found}, ${singly}; service.inventory: always takes what it shows`);
}

const AGREEMENTS = {
  same: "shows places as containers' own locations do",
  less: "shows less of a place than the container's own location, or writes it another way",
  other: "shows another place than the container's own location",
  none: "shows places, with no location of a container to compare",
} as const;
