import type { ServiceContext } from "../http/context.ts";

/**
 * Whether something was created after ours was sent, as far as its `createdAt` shows. Several clocks have a say in that: the
 * service's, that of the gateway which writes `Date`, the database's and ours. So it may speak for something that shows the
 * right content. It never speaks against such a one; and against one that shows no content only when it is `older` by more than
 * clocks and time zones are ever wrong.
 */
export type Age = "older" | "newer" | "unknown";

/** Room for clocks that differ more than the `Date` header shows. */
export const CLOCK_MARGIN_MS = 600_000;
/** Further apart are no clocks that anybody works by, nor two time zones. */
export const WRONG_CLOCK_MS = 86_400_000;

/** A time as the service wrote it, ms by its own clock; undefined where it has no zone, or is none. */
export function createdAtMs(text: string | undefined): number | undefined {
  if (!text || !/(Z|[+-]\d{2}:?\d{2})$/i.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** By the service's clock as its `Date` headers show it, with a margin; a time without a zone proves nothing. */
export function ageOf(
  context: ServiceContext,
  sentAfter: Date,
  entry: { readonly createdAt?: string | undefined },
): Age {
  const createdAt = createdAtMs(entry.createdAt);
  if (createdAt === undefined) return "unknown";
  const sentAt = sentAfter.getTime() + (context.transport.clockSkewMs ?? 0);
  if (createdAt >= sentAt - CLOCK_MARGIN_MS) return "newer";
  return createdAt < sentAfter.getTime() - WRONG_CLOCK_MS ? "older" : "unknown";
}
