import { PROCEDURE_STATUSES } from "./service-catalogue.ts";

type RefillStatus = (typeof PROCEDURE_STATUSES)[number];

/** Statuses that a refill never leaves. */
const ENDED_REFILL = ["COMPLETED", "CANCELLED", "FAILED"] as const satisfies readonly RefillStatus[];

/** How far each status is on its way; those that end have the same rank, since none follows another. */
const RANKS: Readonly<Record<RefillStatus, number>> = {
  PENDING: 0,
  CREATED: 1,
  IN_PROGRESS: 2,
  COMPLETED: 3,
  CANCELLED: 3,
  FAILED: 3,
};

/** How far a status is on its way, from 0; undefined for a word that the specification doesn't have. */
export function rankOf(status: string): number | undefined {
  return isRefillStatus(status) ? RANKS[status] : undefined;
}

function isRefillStatus(status: string): status is RefillStatus {
  return (PROCEDURE_STATUSES as readonly string[]).includes(status);
}

/** Whether a refill with this status has come to its end. */
export function isEndedRefill(status: string): boolean {
  return (ENDED_REFILL as readonly string[]).includes(status);
}

/**
 * A liquid-nitrogen refill as the service shows it. No subject belongs to it; the name of who performed it is left
 * out on purpose. Parts that were not shown are undefined.
 */
export interface Refill {
  /** The procedure's id. */
  readonly id: number;
  /** The human-readable procedure code, where the surface has one. */
  readonly code?: string | undefined;
  /** One of {@link PROCEDURE_STATUSES}, or the service's own word in upper case. */
  readonly status: string;
  readonly storageId?: number | undefined;
  readonly storageName?: string | undefined;
  /** ISO 8601 as the service wrote it, like the two that follow. */
  readonly createdAt?: string | undefined;
  readonly startedAt?: string | undefined;
  readonly completedAt?: string | undefined;
  /** That the service gives a reason for its failure, in our words: its own may be about anybody. */
  readonly error?: string | undefined;
}

/** A storage solution. */
export interface Tank {
  readonly storageId: number;
  readonly name?: string | undefined;
}
