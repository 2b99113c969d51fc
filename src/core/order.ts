import type { AssigningAuthority } from "./assigning-authority.ts";
import type { Phi } from "./phi.ts";

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
  readonly sources: Readonly<Record<string, string>>;
}
