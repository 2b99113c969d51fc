import { asFailure, Failure } from "../../core/failures.ts";
import { findListAt, findListName, LISTS } from "../../core/service-catalogue.ts";
import type { Query } from "../http/transport.ts";
import type { FilterPolicy, ServiceSettings } from "../settings.ts";
import { idOf, type RawObject } from "../values.ts";
import { type Capabilities, DEFAULT_PER_PAGE, isAllowed, isDocumented } from "./capabilities.ts";

/** Tried when the service refuses a larger page. */
const MODEST_PER_PAGE = 100;

/** One page of a list, as the reader would like to ask for it. */
interface PageQuestion {
  readonly endpoint: string;
  readonly filters: Query;
  readonly page: number;
  readonly perPage: number;
  /** Whether a missed entry would do harm, so that a list which may be cut is an error. */
  readonly isWholeWanted: boolean;
  /** Whether the site says that the list comes whole and takes no paging. */
  readonly isUnpaged: boolean;
}

/** A page as the service sent it. */
export interface SentPage {
  readonly entries: readonly RawObject[];
  /** How many entries the list has in all, where the answer says so. */
  readonly total?: number | undefined;
}

/**
 * Asks for one page, in a form that the service takes. One that refuses the question (a strict service answers 400 to
 * parameters it doesn't know) is asked again without the filters that the specification doesn't name for the list,
 * then with a smaller page, then without paging; what it refused is left out for the next hour. Filters that the
 * specification names are always sent. Entries have to be looked at by the caller, as with any filter.
 *
 * @param ask makes the call with the given query
 * @returns the entries with the query that showed them; none for a later page of a list that can't be paged: all there is stands on its first
 * @throws Failure SERVICE_LIST_UNPAGED when such a list may have been cut and the whole is wanted; what `ask` throws,
 *   the first refusal if nothing helped.
 */
export async function askForPage(
  question: PageQuestion,
  known: { readonly capabilities: Capabilities; readonly policy: FilterPolicy },
  ask: (query: Query) => Promise<SentPage>,
): Promise<SentPage & { readonly query: Query }> {
  const { capabilities } = known;
  const { endpoint, page, isUnpaged } = question;
  if (page > 1 && (isUnpaged || capabilities.isRefused(endpoint, "page"))) return { entries: [], query: {} };
  const queries = queriesOf(question, known);
  const [best = {}] = queries;
  let refusal: Failure | undefined;
  for (const query of queries) {
    try {
      const sent = await ask(query);
      if (query !== best) remember(question, best, query, capabilities);
      if (!("page" in query)) requireUncut(question, sent, capabilities);
      return { ...sent, query };
    } catch (error) {
      const failure = asFailure(error);
      if (!isAboutParameters(failure)) throw error;
      refusal ??= failure;
    }
  }
  throw refusal ?? new Failure("SERVICE_REFUSED", `GET ${endpoint}: refused`);
}

/** 400 and 422 say that the question is wrong, unlike a refusal for want of rights. */
function isAboutParameters({ code, answer }: Failure): boolean {
  return code === "SERVICE_REFUSED" && (answer === undefined || [400, 422].includes(answer.status));
}

/** The ways of asking, from the most exact to the barest, without what is known to be refused. */
function queriesOf(
  { endpoint, filters, page, perPage, isUnpaged }: PageQuestion,
  { capabilities, policy }: { readonly capabilities: Capabilities; readonly policy: FilterPolicy },
): Query[] {
  const given = Object.entries(filters).filter(([, value]) => value !== undefined);
  const sent = given.filter(
    ([name]) => isAllowed(policy, endpoint, name) && !capabilities.isRefused(endpoint, name),
  );
  const documented = given.filter(([name]) => isDocumented(endpoint, name));
  const wanted = Object.fromEntries(sent);
  const bare = Object.fromEntries(documented);
  const sizes = perPage > MODEST_PER_PAGE ? [perPage, MODEST_PER_PAGE] : [perPage];
  const taken = sizes.filter((size) => !capabilities.isRefused(endpoint, `perPage=${size}`));
  const paged = [...taken.map((size) => ({ page, perPage: size })), { page }];
  // A later page is asked for as the first one was: by another size its number would mean other entries, which were seen
  // already, and the walk would end there.
  const isBare = isUnpaged || capabilities.isRefused(endpoint, "page");
  const pagings = isBare ? [{}] : page === 1 ? [...paged, {}] : paged.slice(0, 1);
  const [first = {}, ...others] = pagings;
  const isBareOther = sent.length > documented.length;
  return [
    { ...wanted, ...first },
    ...(isBareOther ? [{ ...bare, ...first }] : []),
    ...others.map((paging) => ({ ...bare, ...paging })),
  ];
}

/** Notes what the question that was taken left out. */
function remember({ endpoint }: PageQuestion, best: Query, taken: Query, capabilities: Capabilities): void {
  for (const name of Object.keys(best)) {
    if (name !== "page" && name !== "perPage" && !(name in taken)) capabilities.sawRefused(endpoint, name);
  }
  if (!("page" in taken)) capabilities.sawRefused(endpoint, "page");
  else if (best.perPage !== taken.perPage) capabilities.sawRefused(endpoint, `perPage=${best.perPage}`);
  if ("page" in taken && !("perPage" in taken) && best.perPage !== MODEST_PER_PAGE) {
    capabilities.sawRefused(endpoint, `perPage=${MODEST_PER_PAGE}`);
  }
}

/**
 * Without paging, as many entries as a default page holds may be all, or only the first of them. Lists of the external
 * surface are described without pages: one that refuses them is whole.
 */
function requireUncut(
  { endpoint, isWholeWanted, isUnpaged }: PageQuestion,
  { entries, total }: SentPage,
  capabilities: Capabilities,
): void {
  if (isUnpaged || !isWholeWanted || isPlainArray(endpoint)) return;
  if (entries.length !== DEFAULT_PER_PAGE || total === DEFAULT_PER_PAGE) return;
  capabilities.doubt(endpoint);
  throw unpaged(
    endpoint,
    `\`page\` is refused and there are just ${DEFAULT_PER_PAGE} entries, so there may be more`,
  );
}

/** A list that may be cut, with the name by which the configuration can say that it isn't. */
export function unpaged(endpoint: string, why: string): Failure {
  return new Failure("SERVICE_LIST_UNPAGED", `GET ${endpoint} (list \`${findListName(endpoint)}\`): ${why}`);
}

/** Why a list whose pages are all the same may be cut. */
export function samePages(length: number): string {
  return `\`page\` is ignored, and each page is the first ${length} entries`;
}

/**
 * Refuses a list with an id that can't be read exactly. Such an entry would be taken for one without an id and passed
 * over, as if the service had never listed it.
 * @throws Failure SERVICE_ID_TOO_LARGE
 */
export function requireReadableIds(endpoint: string, entries: readonly RawObject[]): void {
  if (!entries.some(({ id }) => isTooLarge(id))) return;
  throw new Failure(
    "SERVICE_ID_TOO_LARGE",
    `GET ${endpoint}: an id is above ${Number.MAX_SAFE_INTEGER} (2^53 - 1), which can't be read exactly`,
  );
}

/**
 * Refuses a list with an entry whose id can't be read at all, where passing it over would mean that it isn't there.
 * @throws Failure SERVICE_SHAPE_UNKNOWN
 */
export function requireIds(endpoint: string, entries: readonly RawObject[]): void {
  if (entries.every((entry) => idOf(entry) !== undefined)) return;
  throw new Failure(
    "SERVICE_SHAPE_UNKNOWN",
    `GET ${endpoint}: an entry has no whole number as its id, so it is not clear what it is`,
  );
}

/** Whether an id is a whole number that can't be read exactly. */
export function isTooLarge(id: unknown): boolean {
  if (typeof id === "number") return Number.isInteger(id) && !Number.isSafeInteger(id);
  return typeof id === "string" && /^\d{16,}$/.test(id) && !Number.isSafeInteger(Number(id));
}

/** Longer lists than that are not read in one answer. */
const MOST_PER_PAGE = 1_000_000;

/** How a list is wrapped, as far as the site says. Those of the external surface are bare arrays, unless it names them. */
export function envelopeOf(
  endpoint: string,
  { listEnvelope, listEnvelopes }: Pick<ServiceSettings, "listEnvelope" | "listEnvelopes">,
): string {
  const name = findListName(endpoint);
  const usual = isPlainArray(endpoint) ? "auto" : listEnvelope;
  return (name && listEnvelopes[name]) ?? usual;
}

/** Whether the site says that a list comes whole. */
export function isUnpaged(endpoint: string, { unpaged }: Pick<ServiceSettings, "unpaged">): boolean {
  return unpaged.some((name) => LISTS[name].path === endpoint);
}

/** Whether a list is one of those that the specification describes as a plain array, without a word about pages. */
export function isPlainArray(endpoint: string): boolean {
  return findListAt(endpoint)?.surface === "external";
}

/**
 * Finds out what a list is of which each page is the same and exactly as long as was asked for: whole, by accident of
 * that length, or cut because `page` is ignored. Asks for other lengths; gives answers with whatever they hold.
 *
 * Asked for more, a service that follows `perPage` gives more, until it gives less than asked: then that is all. One
 * that gives as much even when asked for less follows neither: its lists are not paged, so each is whole.
 *
 * @param ask reads the first page at a length
 * @throws Failure SERVICE_LIST_UNPAGED when the service follows `perPage` up to just this length and ignores `page`.
 */
export async function* readAtOtherLengths(
  endpoint: string,
  perPage: number,
  ask: (perPage: number) => Promise<readonly RawObject[]>,
): AsyncGenerator<readonly RawObject[], void, void> {
  for (let asked = perPage * 2; asked <= MOST_PER_PAGE; asked *= 2) {
    const entries = await ask(asked);
    yield entries;
    if (entries.length <= perPage) break;
    if (entries.length !== asked) return;
  }
  const fewer = perPage > 1 ? await ask(perPage - 1) : [];
  yield fewer;
  if (fewer.length >= perPage) return;
  throw unpaged(endpoint, samePages(perPage));
}
