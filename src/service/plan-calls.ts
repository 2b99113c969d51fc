import type { Order } from "../core/order.ts";
import { CONTAINERS } from "./containers.ts";
import { requestBody } from "./request-body.ts";
import { REQUESTS } from "./requests.ts";
import { resolveSettings, type ServiceSettings } from "./settings.ts";
import { SUBJECTS, subjectBody } from "./subjects.ts";
import type { Query } from "./transport.ts";

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
const REF_SAMPLE = "XXXXXXXXXXXX";

/**
 * The calls that submitting an order would make, in their order and with their bodies, without making any.
 * Ids that only the service knows appear as `<id of LABEL>`, the correlation token as twelve X.
 * @throws Failure CONFIG_INVALID when the settings are.
 */
export function planCalls(order: Order, settings: ServiceSettings): PlannedCall[] {
  const { correlation, perPage } = resolveSettings(settings);
  const { facilityId, subject } = order;
  const subjectCode = subject.code.reveal();
  const calls: PlannedCall[] = [
    { method: "GET", path: SUBJECTS, query: { code: subjectCode, facilityId, page: 1, perPage } },
    {
      method: "POST",
      path: SUBJECTS,
      body: withoutGaps(subjectBody(facilityId, subject)),
      condition: "the facility has no subject with that code yet",
    },
  ];
  if (order.operation === "STORE") {
    const request = {
      type: "STORE",
      facilityId,
      subjectCode: subject.code,
      containers: order.containers,
      ref: REF_SAMPLE,
    } as const;
    calls.push({ method: "POST", path: REQUESTS, body: requestBody(request, correlation) });
  }
  if (order.operation === "RETRIEVAL") {
    // A subject without containers has nothing to retrieve, so it is never registered for it.
    calls.pop();
    const paging = { page: 1, perPage };
    const snapshot = { facilityId, type: "RETRIEVAL", subjectCode, ...paging };
    calls.push(
      { method: "GET", path: CONTAINERS, query: { subjectCode, ...paging } },
      { method: "GET", path: REQUESTS, query: snapshot },
      {
        method: "POST",
        path: REQUESTS,
        body: {
          ...requestBody(
            { type: "RETRIEVAL", facilityId, subjectCode: subject.code, containerIds: [] },
            correlation,
          ),
          sampleContainerIds: order.containers.map((each) => `<id of ${each.label}>`),
        },
        condition: "each label names exactly one container of the subject",
      },
    );
  }
  return calls;
}

function withoutGaps(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}
