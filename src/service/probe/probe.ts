import { asFailure, Failure, type KeptAnswer } from "../../core/failures.ts";
import { findPath, LISTS, RECORDS, type ServiceList } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { describeLists, type Unwrapped, unwrapList } from "../http/answer.ts";
import type { ServiceContext } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import { isAllowed } from "../lists/capabilities.ts";
import { envelopeOf, isUnpaged } from "../lists/list-query.ts";
import { NOBODY } from "../request-surface/containers.ts";
import { idOf, type RawObject, subjectCodeOf } from "../values.ts";
import { observeEntries, type SeenEntries } from "./seen-entries.ts";

/** What the service does with a filter whose value nothing can match. */
type ProbedFilter = "honoured" | "ignored" | "refused";

/** The largest page, as far as it shows. */
type PageCap =
  | { readonly kind: "cap"; readonly size: number }
  | { readonly kind: "none up to"; readonly size: number }
  /** The list is too short to show it. */
  | { readonly kind: "unknown" };

/** What reading a list showed. */
export interface ListFacts extends SeenEntries {
  /** For people: `requests`, `external procedures`. */
  readonly title: string;
  readonly endpoint: string;
  readonly surface: Surface;
  /** Why it could not be read; everything else is then empty. */
  readonly failure?: Failure | undefined;
  /** `array`, a key, or a path of keys. */
  readonly envelope?: string | undefined;
  /** Entries on the first page. */
  readonly length: number;
  /** Parameters that make the service refuse the whole call: `page`, `perPage=500`. */
  readonly refused: readonly string[];
  readonly cap: PageCap;
  /** By the filter's name; empty where the list is, since nothing can then be known. */
  readonly filters: ReadonlyMap<string, ProbedFilter>;
}

/** How the service says that it has no such record; a `failure` when that was not what its answer looked like. */
export type UnknownId = Pick<KeptAnswer, "status" | "shape" | "errorCode"> | { readonly failure: Failure };

interface ProbePlan {
  readonly surfaces: ReadonlySet<Surface>;
  /** A facility of the site, by surface; some lists are asked for one. */
  readonly facilityIdBySurface: ReadonlyMap<Surface, number>;
  /** Subjects are looked up, also where no order goes by the surface that lists them. */
  readonly areSubjectsUsed: boolean;
}

/** A list that `check` looks at. */
interface ProbedList {
  readonly list: ServiceList;
  /** Filters with a value that no entry has. */
  readonly impossible: readonly (readonly [name: string, value: string | number])[];
}

/** No id is below 1, and nothing was created in the year 2999. */
const NO_ID = ["id_to", 0] as const;
const FAR_FUTURE = ["createdAt_from", "2999-01-01T00:00:00Z"] as const;
const NO_SUBJECT = ["subjectCode", NOBODY] as const;

/** The lists of both surfaces, those that orders hang on first. */
const PROBED_LISTS: readonly ProbedList[] = [
  { list: LISTS.requests, impossible: [NO_ID, NO_SUBJECT, FAR_FUTURE] },
  { list: LISTS.procedures, impossible: [NO_ID, FAR_FUTURE] },
  { list: LISTS.subjects, impossible: [["code", NOBODY], NO_ID] },
  { list: LISTS.containers, impossible: [NO_SUBJECT] },
  { list: LISTS.storage, impossible: [NO_ID] },
  { list: LISTS.externalProcedures, impossible: [NO_ID, FAR_FUTURE] },
  { list: LISTS.externalContainers, impossible: [NO_SUBJECT] },
];

/** Asked for, to see where a page ends. */
const LARGE_PAGE = 1_000;
/** The largest id of most databases; nothing is expected there. */
const UNLIKELY_ID = 2_147_483_647;
/** One list takes at most: itself, a second page, a large page and the one after it, and its filters. */
const MOST_REQUESTS_A_LIST = 9;

/**
 * Finds out by reading alone, one call after the other, what the specification leaves open. At most nine calls a list.
 *
 * @returns each list as soon as it is looked at; one that refuses to be read has a `failure`
 * @throws Failure when the service is out of reach or in trouble, so that nothing can be known.
 */
export async function* probeLists(
  context: ServiceContext,
  plan: ProbePlan,
  signal: AbortSignal,
): AsyncGenerator<ListFacts, void, void> {
  // Containers are asked for by the code of a subject, and the lists before them show some.
  let subjectCode: string | undefined;
  const isUsed = ({ list }: ProbedList) =>
    findPath(context.settings.paths, list.path) !== undefined &&
    (plan.surfaces.has(list.surface) || (plan.areSubjectsUsed && list === LISTS.subjects));
  for (const probed of PROBED_LISTS.filter(isUsed)) {
    const facilityId = plan.facilityIdBySurface.get(probed.list.surface);
    const probe = new ListProbe(context, probed, { facilityId, subjectCode }, signal);
    const facts = await probe.run();
    subjectCode ??= probe.subjectCode;
    yield facts;
  }
}

/** Reads one list every way that shows something. */
class ListProbe {
  readonly #context: ServiceContext;
  readonly #list: ServiceList;
  readonly #impossible: ProbedList["impossible"];
  readonly #base: Query;
  readonly #signal: AbortSignal;
  readonly #refused: string[] = [];
  #requests = 0;
  #subjectCode: string | undefined;

  constructor(
    context: ServiceContext,
    { list, impossible }: ProbedList,
    known: { readonly facilityId: number | undefined; readonly subjectCode: string | undefined },
    signal: AbortSignal,
  ) {
    this.#context = context;
    this.#list = list;
    this.#impossible = impossible;
    // A service may insist on what the specification names.
    const isNamed = (filter: string) => list.filters.includes(filter);
    this.#base = {
      ...(isNamed("facilityId") && known.facilityId !== undefined ? { facilityId: known.facilityId } : {}),
      ...(isNamed("subjectCode") ? { subjectCode: known.subjectCode ?? NOBODY } : {}),
      ...(isNamed("type") ? { type: "STORE" } : {}),
    };
    this.#signal = signal;
  }

  /** The code of some subject that the list names; a patient's value. */
  get subjectCode(): string | undefined {
    return this.#subjectCode;
  }

  async run(): Promise<ListFacts> {
    const { title, path: endpoint, surface } = this.#list;
    const shared = { title, endpoint, surface };
    const { perPage } = this.#context.settings;
    try {
      const first = await this.#first(perPage);
      const { entries, envelope } = first;
      this.#subjectCode = entries.map(subjectCodeOf).find((code) => code !== undefined && code !== "");
      return {
        ...shared,
        ...observeEntries(entries, this.#list, this.#context.settings.words),
        envelope,
        length: entries.length,
        cap: await this.#cap(entries, perPage),
        filters: entries.length === 0 ? new Map() : await this.#filters(),
        refused: this.#refused,
      };
    } catch (error) {
      const failure = asFailure(error);
      if (!REFUSED.has(failure.code)) throw failure;
      const nothing = { length: 0, cap: { kind: "unknown" }, filters: new Map(), refused: [] } as const;
      return {
        ...shared,
        ...observeEntries([], this.#list, this.#context.settings.words),
        ...nothing,
        failure,
      };
    }
  }

  /** The first page; a service that refuses paging, or is known to, is asked without it. */
  async #first(perPage: number): Promise<Unwrapped> {
    if (isUnpaged(this.#list.path, this.#context.settings)) {
      this.#refused.push("page");
      return await this.#ask({});
    }
    try {
      return await this.#ask({ page: 1, perPage });
    } catch (error) {
      const refusal = asFailure(error);
      if (refusal.code !== "SERVICE_REFUSED") throw error;
      const smaller = await this.#askOrRefused({ page: 1 });
      if (smaller) {
        this.#refused.push(`perPage=${perPage}`);
        return smaller;
      }
      const bare = await this.#askOrRefused({});
      if (!bare) throw refusal;
      this.#refused.push("page");
      return bare;
    }
  }

  async #cap(entries: readonly RawObject[], perPage: number): Promise<PageCap> {
    if (entries.length === 0 || this.#refused.length > 0) return { kind: "unknown" };
    if (entries.length < perPage) {
      return (await this.#hasMoreAfter(entries, perPage))
        ? { kind: "cap", size: entries.length }
        : { kind: "unknown" };
    }
    const size = Math.max(LARGE_PAGE, perPage * 2);
    const large = await this.#askOrRefused({ page: 1, perPage: size });
    if (!large) {
      this.#refused.push(`perPage=${size}`);
      return { kind: "none up to", size: perPage };
    }
    if (large.entries.length > perPage && !(await this.#hasMoreAfter(large.entries, size))) {
      return { kind: "none up to", size: large.entries.length };
    }
    const isCut = large.entries.length < size && (await this.#hasMoreAfter(large.entries, size));
    if (isCut) return { kind: "cap", size: large.entries.length };
    return { kind: "none up to", size: large.entries.length };
  }

  readonly #after = new Map<number, boolean>();

  /** Whether the page after a first one has an entry that the first one has not. */
  async #hasMoreAfter(entries: readonly RawObject[], perPage: number): Promise<boolean> {
    const known = this.#after.get(perPage);
    if (known !== undefined) return known;
    const ids = new Set(entries.map(idOf));
    const next = await this.#askOrRefused({ page: 2, perPage });
    const hasMore = next?.entries.some((entry) => !ids.has(idOf(entry))) ?? false;
    this.#after.set(perPage, hasMore);
    return hasMore;
  }

  async #filters(): Promise<ReadonlyMap<string, ProbedFilter>> {
    const found = new Map<string, ProbedFilter>();
    const paging = this.#refused.includes("page") ? {} : { page: 1 };
    const { filters: policy } = this.#context.settings;
    for (const [name, value] of this.#impossible) {
      if (!isAllowed(policy, this.#list.path, name)) continue;
      if (this.#requests >= MOST_REQUESTS_A_LIST) break;
      const answer = await this.#askOrRefused({ ...paging, [name]: value });
      if (!answer) found.set(name, "refused");
      else found.set(name, answer.entries.length === 0 ? "honoured" : "ignored");
    }
    return found;
  }

  async #askOrRefused(query: Query): Promise<Unwrapped | undefined> {
    try {
      return await this.#ask(query);
    } catch (error) {
      if (REFUSED.has(asFailure(error).code)) return undefined;
      throw error;
    }
  }

  #ask(query: Query): Promise<Unwrapped> {
    this.#requests += 1;
    const { path: endpoint } = this.#list;
    return this.#context.transport.call(
      {
        method: "GET",
        route: endpoint,
        query: { ...this.#base, ...query },
        read: (answer) => {
          if (answer.shape === "empty") return { entries: [], envelope: "nothing at all" };
          const configured = envelopeOf(endpoint, this.#context.settings);
          // What is found by itself shows what is to be set; what has to be set is not found by itself.
          const unwrapped = unwrapList(answer.json, "auto") ?? unwrapList(answer.json, configured);
          if (unwrapped) return unwrapped;
          const why = `no list found in the answer (${describeLists(answer.json)})`;
          throw new Failure("SERVICE_SHAPE_UNKNOWN", `GET ${endpoint}: ${why}`);
        },
      },
      this.#signal,
    );
  }
}

/** The service answers, and says no. */
const REFUSED: ReadonlySet<string> = new Set(["SERVICE_REFUSED", "SERVICE_NOT_FOUND"]);

/**
 * Reads a record that hardly exists, to see how errors look; undefined when it does exist.
 * @throws Failure when the call was not made.
 */
export async function probeUnknownId(
  context: ServiceContext,
  surface: Surface,
  signal: AbortSignal,
): Promise<UnknownId | undefined> {
  const route = surface === "request" ? RECORDS.request : RECORDS.externalProcedure;
  try {
    await context.transport.call({ method: "GET", route, id: UNLIKELY_ID, read: () => undefined }, signal);
    return undefined;
  } catch (error) {
    const failure = asFailure(error);
    if (failure.answer) return failure.answer;
    if (failure.code === "SERVICE_UNAVAILABLE") return { failure };
    throw failure;
  }
}
