/** The simulated service's own rows. Times are ISO 8601 in UTC; ids are unique across all kinds of rows. */

/** What every row carries for lists: `insertedAt` is monotonic ms, for a list that lags behind writes. */
interface Row {
  readonly id: number;
  readonly facilityId: number;
  readonly insertedAt: number;
}

export interface Facility {
  readonly id: number;
  readonly name: string;
  readonly organizationId: number;
}

export interface Subject extends Row {
  readonly code: string;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly dateOfBirth: string | undefined;
  readonly createdAt: string;
}

/** A place in a storage solution. */
export interface Slot {
  readonly storageId: number;
  readonly canister: string;
  readonly cane: string;
  readonly slot: number;
}

/** A vial or straw. It has a slot and `storedAt` while it is in storage. */
export interface Container extends Row {
  /** The lab's label: `sampleContainerId` of a request, `name` elsewhere. */
  readonly name: string;
  readonly description: string;
  readonly subjectId: number;
  readonly subjectCode: string;
  slot: Slot | undefined;
  storedAt: string | undefined;
  /** The RFID tag that staff associated with it. */
  rfidTag: string | undefined;
}

export interface StorageSolution extends Row {
  readonly name: string;
  /** False until the procedure that registers it is completed; only then it is listed and used. */
  isRegistered: boolean;
}

/** One container as a STORE request names it. */
export interface NamedContainer {
  readonly name: string;
  readonly description: string;
}

export type OrderType = "STORE" | "RETRIEVAL";

/** An integration orders the first two; web-app users the others as well, and devices refills. */
export type ProcedureType = OrderType | "TRANSFER" | "REGISTER_STORAGE" | "REFILL";

export interface ProcedureRequest extends Row {
  readonly type: OrderType;
  readonly subjectId: number;
  readonly subjectCode: string;
  /** STORE only. */
  readonly containers: readonly NamedContainer[];
  /** RETRIEVAL only. */
  readonly containerIds: readonly number[];
  readonly createdAt: string;
  /** PENDING, ACCEPTED, REJECTED, CANCELLED, or what a test put there. */
  status: string;
  procedureId: number | null;
  acceptedAt: string | undefined;
  acceptedBy: string | undefined;
}

export interface Procedure extends Row {
  readonly code: string;
  readonly type: ProcedureType;
  readonly storageId: number;
  /** The subject and its containers; absent and empty for REFILL and REGISTER_STORAGE. */
  readonly subjectId: number | undefined;
  readonly subjectCode: string | undefined;
  readonly containerIds: readonly number[];
  /** The procedure request it came from; null when an integration, a web-app user or a device created it. */
  readonly requestId: number | null;
  readonly createdAt: string;
  /** PENDING, CREATED, IN_PROGRESS, COMPLETED, CANCELLED, FAILED, or what a test put there. */
  status: string;
  performedBy: string | undefined;
  startedAt: string | undefined;
  completedAt: string | undefined;
  error: string | null;
}

/** Statuses that a procedure never leaves. */
export const ENDED_PROCEDURE: readonly string[] = ["COMPLETED", "CANCELLED", "FAILED"];
