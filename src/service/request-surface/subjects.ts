import { Failure } from "../../core/failures.ts";
import type { OrderSubject } from "../../core/order.ts";
import type { Phi } from "../../core/phi.ts";
import { LISTS, RECORDS } from "../../core/service-catalogue.ts";
import { unwrapObject } from "../http/answer.ts";
import { getOne, type ServiceContext } from "../http/context.ts";
import { collect } from "../lists/list.ts";
import { parseSubject, type ServiceSubject } from "../shapes.ts";

const SUBJECTS = LISTS.subjects.path;

/**
 * Looks a subject up by its code within a facility. The service is asked to filter, and each entry is compared
 * again here, exactly, since filters are not promised for this endpoint.
 * @throws Failure SERVICE_SUBJECT_AMBIGUOUS when two or more match, and those of a list walk.
 */
export async function findSubject(
  context: ServiceContext,
  facilityId: number,
  code: Phi,
  signal: AbortSignal,
): Promise<ServiceSubject | undefined> {
  const { capabilities } = context;
  const wanted = code.reveal();
  const listing = {
    endpoint: SUBJECTS,
    query: { code: wanted, facilityId },
    ends: "whole",
  } as const;
  const sameCode = await collect(
    context,
    listing,
    (raw) => {
      const subject = parseSubject(raw);
      if (subject?.code?.reveal() === wanted) return subject;
      if (subject?.code) capabilities.sawFilter(SUBJECTS, "code", "ignored");
      return undefined;
    },
    signal,
  );
  const matches: ServiceSubject[] = [];
  for (const subject of sameCode) {
    const whole = subject.facilityId === undefined ? await getSubject(context, subject.id, signal) : subject;
    if (whole.facilityId === undefined || whole.facilityId === facilityId) matches.push(whole);
  }
  if (matches.length > 1) {
    throw new Failure(
      "SERVICE_SUBJECT_AMBIGUOUS",
      `${matches.length} subjects of facility ${facilityId} have the order's subject code (ids ${matches.map((each) => each.id).join(", ")})`,
    );
  }
  return matches[0];
}

/** Reads one subject by the service's id. */
export function getSubject(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ServiceSubject> {
  return getOne(context, { route: RECORDS.subject, id }, parseSubject, signal);
}

/** The body of a subject's registration; parts that the order doesn't have are left out. */
export function subjectBody(facilityId: number, subject: OrderSubject): Readonly<Record<string, unknown>> {
  return {
    facilityId,
    code: subject.code.reveal(),
    firstName: subject.firstName?.reveal(),
    lastName: subject.lastName?.reveal(),
    dateOfBirth: subject.dateOfBirth?.reveal(),
  };
}

/**
 * Registers a subject. Sent once; after SERVICE_NO_ANSWER or SERVICE_REFUSED (someone else may have been faster)
 * the caller looks the subject up again before anything else.
 * @param beforeSend runs right before the first byte leaves; when it throws, nothing is sent
 * @throws Failure SERVICE_ANSWER_DIFFERS when the answer is about another subject, and those of `Transport.call`.
 */
export function registerSubject(
  context: ServiceContext,
  facilityId: number,
  subject: OrderSubject,
  signal: AbortSignal,
  beforeSend?: () => void,
): Promise<ServiceSubject> {
  const route = SUBJECTS;
  return context.transport.call(
    {
      method: "POST",
      route,
      body: subjectBody(facilityId, subject),
      beforeSend,
      read: (answer) => {
        const created = parseSubject(unwrapObject(answer.json));
        if (!created) throw new Failure("SERVICE_NO_ANSWER", `POST ${route}: the answer holds no subject id`);
        const differing = [
          created.code && created.code.reveal() !== subject.code.reveal() ? "code" : undefined,
          created.facilityId !== undefined && created.facilityId !== facilityId ? "facilityId" : undefined,
        ].filter((each) => each !== undefined);
        if (differing.length === 0) return created;
        throw new Failure(
          "SERVICE_ANSWER_DIFFERS",
          `POST ${route}: the answer has another ${differing.join(", ")}`,
        );
      },
    },
    signal,
  );
}
