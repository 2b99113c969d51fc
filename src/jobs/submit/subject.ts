import { Failure } from "../../core/failures.ts";
import type { OrderSubject } from "../../core/order.ts";
import type { Phi } from "../../core/phi.ts";

/** A field of a subject that registering it may take, besides its code. */
export type SubjectField = "firstName" | "lastName" | "dateOfBirth";

/** What the service knows of a subject. */
interface KnownSubject {
  readonly id: number;
  readonly firstName?: Phi | undefined;
  readonly lastName?: Phi | undefined;
  readonly dateOfBirth?: Phi | undefined;
}

const fold = (value: string) => value.normalize("NFC").trim().replace(/\s+/gu, " ").toLocaleLowerCase("und");

/** How two records of a subject compare: names of fields, in words. */
interface Comparison {
  /** Case, surrounding blanks and the way accents are encoded don't count. */
  readonly differing: readonly string[];
  /** What the order has and the service doesn't show. */
  readonly unshown: readonly string[];
}

/** Compares the fields that both sides have. */
export function compareSubjects(ours: OrderSubject, theirs: KnownSubject): Comparison {
  const fields = ["firstName", "lastName", "dateOfBirth"] as const;
  const given = fields.flatMap((field) => {
    const our = ours[field]?.reveal();
    return our === undefined ? [] : [{ field, our, their: theirs[field]?.reveal() }];
  });
  const differing = given.filter(({ our, their }) => their !== undefined && fold(our) !== fold(their));
  const unshown = given.filter(({ their }) => their === undefined);
  return {
    differing: differing.map(({ field }) => inWords(field)),
    unshown: unshown.map(({ field }) => inWords(field)),
  };
}

/**
 * The guard against the wrong patient: where both sides have a name or birth date, the two must agree.
 *
 * @returns what could not be compared, since the service doesn't show it
 * @throws Failure SUBJECT_MISMATCH naming the fields that differ, never their values.
 */
export function requireSameSubject(ours: OrderSubject, theirs: KnownSubject): readonly string[] {
  const { differing, unshown } = compareSubjects(ours, theirs);
  if (differing.length === 0) return unshown;
  throw new Failure(
    "SUBJECT_MISMATCH",
    `the service has this subject code with another ${differing.join(", ")}`,
  );
}

/**
 * Whether the order has all that registering its subject takes. Which fields the service demands is not shown by the
 * specification, so the site says it.
 *
 * @throws Failure SUBJECT_INCOMPLETE naming what is missing.
 */
export function requireRegistrable(subject: OrderSubject, required: readonly SubjectField[]): void {
  const missing = required.filter((field) => subject[field] === undefined);
  if (missing.length === 0) return;
  throw new Failure(
    "SUBJECT_INCOMPLETE",
    `the subject isn't registered and the order lacks its ${missing.map(inWords).join(", ")}`,
  );
}

function inWords(field: SubjectField): string {
  return { firstName: "first name", lastName: "last name", dateOfBirth: "date of birth" }[field];
}
