import { isSubjectNews, type Order } from "../core/order.ts";
import { findPath, LISTS, LISTS_OF, MADE_AT } from "../core/service-catalogue.ts";
import type { FacilityWay } from "../core/surface.ts";
import type { Query } from "./http/transport.ts";
import { type NewRequest, requestBody } from "./new-request.ts";
import { subjectBody } from "./request-surface/subjects.ts";
import type { ServiceSettings } from "./settings.ts";

/** A call that an order would lead to. Holds patients' values: for an authorised operator's eyes. */
export interface PlannedCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** On what it depends; absent for a call that is always made. */
  readonly condition?: string | undefined;
}

/** Stands for the token, which is made from the order's id in the ledger. */
const REF_SAMPLE = "XXXX-XXXXXXXXXX";

/** By the request surface, with subjects registered: what the specification describes first. */
const USUAL: FacilityWay = { surface: "request", subjects: "register" };

/**
 * The calls that submitting an order would make, in their order and with their bodies, without making any.
 * Ids that only the service knows appear as `<id of LABEL>`, the correlation token as twelve X.
 *
 * @param way how orders of the order's facility go to the service
 * @throws Failure CONFIG_INVALID when the settings are.
 */
export function planCalls(order: Order, settings: ServiceSettings, way: FacilityWay = USUAL): PlannedCall[] {
  const { correlation, perPage, paths } = settings;
  const { facilityId, subject, operation, containers } = order;
  const { surface } = way;
  const code = subject.code.reveal();
  const paging = { page: 1, perPage };
  const listed: PlannedCall = {
    method: "GET",
    path: LISTS_OF.containers[surface].path,
    query: { subjectCode: code, ...paging },
  };
  const create = (request: NewRequest, more: Partial<PlannedCall> = {}): PlannedCall => {
    const body = { ...requestBody(request, correlation, surface), ...more.body };
    return { ...more, method: "POST", path: MADE_AT[surface].path, body };
  };
  const calls = planSubject(order, way, paging);
  const common = { facilityId, subjectCode: subject.code };
  if (operation === "STORE") {
    const isNeverNew = way.subjects === "none";
    const condition = isNeverNew ? undefined : "the facility has a subject with that code already";
    calls.push({ ...listed, condition }, create({ ...common, type: "STORE", containers, ref: REF_SAMPLE }));
  }
  if (operation === "RETRIEVAL") {
    calls.push(listed);
    if (surface === "request") {
      const query = { facilityId, subjectCode: code, ...paging };
      calls.push({ method: "GET", path: LISTS.requests.path, query });
    }
    const body = { sampleContainerIds: containers.map((each) => `<id of ${each.label}>`) };
    const condition = "each label names exactly one container of the subject";
    calls.push(create({ ...common, type: "RETRIEVAL", containerIds: [] }, { body, condition }));
  }
  // What the service doesn't have is refused with the configuration, so each of these lies somewhere.
  return calls.map((call) => ({ ...call, path: findPath(paths, call.path) ?? call.path }));
}

function planSubject(
  { facilityId, subject, operation, priorSubjectCode }: Order,
  { subjects }: FacilityWay,
  paging: Query,
): PlannedCall[] {
  if (subjects === "none") return [];
  const look: PlannedCall = {
    method: "GET",
    path: LISTS.subjects.path,
    query: { code: (priorSubjectCode ?? subject.code).reveal(), facilityId, ...paging },
  };
  // News about a subject are compared with what is there.
  if (isSubjectNews(operation)) return [look];
  // A subject without containers has nothing to retrieve, so it is never registered for it.
  if (subjects === "look" || operation === "RETRIEVAL") return [look];
  const body = withoutGaps(subjectBody(facilityId, subject));
  const condition = "the facility has no subject with that code yet";
  return [look, { method: "POST", path: LISTS.subjects.path, body, condition }];
}

function withoutGaps(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
