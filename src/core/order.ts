import type { Phi } from "./phi.ts";
import { type Place, placeText } from "./place.ts";

/**
 * What an order asks for. STORE and RETRIEVAL become procedure requests; REGISTER only makes the subject known. UPDATE
 * and MERGE are the lab's news about a subject: what the service has is compared with them, and never changed.
 */
const OPERATIONS = ["STORE", "RETRIEVAL", "REGISTER", "UPDATE", "MERGE"] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Whether it moves containers; the others are about a subject alone. */
export function movesContainers(operation: Operation): operation is "STORE" | "RETRIEVAL" {
  return operation === "STORE" || operation === "RETRIEVAL";
}

/** Whether it is news about a subject that may be known already. */
export function isSubjectNews(operation: Operation): operation is "UPDATE" | "MERGE" {
  return operation === "UPDATE" || operation === "MERGE";
}

/** The person whose samples an order is about. Only the code is always known. */
export interface OrderSubject {
  readonly code: Phi;
  readonly firstName?: Phi | undefined;
  readonly lastName?: Phi | undefined;
  /** `YYYY-MM-DD`, a full and real date. */
  readonly dateOfBirth?: Phi | undefined;
}

/** One vial or straw, named by the lab's own label. */
export interface OrderContainer {
  readonly label: string;
  /** Free text for staff; may be empty. */
  readonly description: string;
}

/** The canonical order: what a message asks for once it was mapped and validated. */
export interface Order {
  readonly operation: Operation;
  /** The lab's name for the facility, as it stood in the message. */
  readonly facilityCode: string;
  /** The service's id for that facility. */
  readonly facilityId: number;
  /** ORC-2 or the CSV's `order_number`. Absent only for orders about a subject alone. */
  readonly placerOrderNumber?: string | undefined;
  /** Who assigned that number, where the message says so; never of a CSV row. */
  readonly placerAuthority?: AssigningAuthority | undefined;
  readonly subject: OrderSubject;
  /** MERGE, and only there: the identifier that goes (MRG-1). */
  readonly priorSubjectCode?: Phi | undefined;
  /** Empty for orders about a subject alone; otherwise at least one, labels unique within the order. */
  readonly containers: readonly OrderContainer[];
  /** Where each value came from: `subject.code` -> `PID-3[1].1` or `line 7, column subject_code`. No values. */
  readonly sources: Readonly<Record<string, Place>>;
}

/** Where each value of an order came from, in words. */
export function sourcesInWords(sources: Order["sources"]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(sources).map(([name, place]) => [name, placeText(place)]));
}

/**
 * Who assigned an order number: the parts beside it in HL7 (EI.2 to EI.4), as far as the message has them; one at least.
 * An authority is a code of a system or a department, never a patient's value.
 */
export interface AssigningAuthority {
  /** EI.2: a name that the site's systems agree on, such as `LAB`. */
  readonly namespaceId?: string | undefined;
  /** EI.3: a name that nobody else has, such as an OID. */
  readonly universalId?: string | undefined;
  /** EI.4: what kind of name that is, such as `ISO`. */
  readonly universalIdType?: string | undefined;
}

/**
 * Whether two numbers are known to be of two authorities: then they are two numbers, however they look alike. One that is
 * left out, or given in another way, is taken to be the same, as senders do leave it out at times. Case doesn't count.
 */
export function areOfTwoAuthorities(
  one: AssigningAuthority | undefined,
  other: AssigningAuthority | undefined,
): boolean {
  if (one === undefined || other === undefined) return false;
  const universal = differ(one.universalId, other.universalId);
  // The universal id is what the namespace id stands for; of two kinds it says nothing.
  if (universal !== undefined && differ(one.universalIdType, other.universalIdType) !== true)
    return universal;
  return differ(one.namespaceId, other.namespaceId) === true;
}

/** Both authorities, each as {@link formatAuthority} writes it, where two numbers are known to be of two. */
export function formatTwoAuthorities(
  one: AssigningAuthority | undefined,
  other: AssigningAuthority | undefined,
): readonly [one: string, other: string] | undefined {
  if (one === undefined || other === undefined || !areOfTwoAuthorities(one, other)) return undefined;
  return [formatAuthority(one), formatAuthority(other)];
}

/** Undefined where one is missing. */
function differ(one: string | undefined, other: string | undefined): boolean | undefined {
  if (one === undefined || other === undefined) return undefined;
  return one !== other && one.toLowerCase() !== other.toLowerCase();
}

/** The authority as it stands behind the number in HL7: `LAB`, `LAB^1.2.840.1^ISO`, or `^1.2.840.1^ISO`. */
export function formatAuthority({ namespaceId, universalId, universalIdType }: AssigningAuthority): string {
  return [namespaceId, universalId, universalIdType]
    .map((part) => part ?? "")
    .join("^")
    .replace(/\^+$/, "");
}
