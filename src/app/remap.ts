import type pg from "pg";
import type { Config } from "../config/config.ts";
import { Failure, type FailureCode } from "../core/failures.ts";
import type { Verdict } from "../core/intake.ts";
import type { MappedMessage } from "../core/mapped-message.ts";
import type { Order } from "../core/order.ts";
import type { Phi } from "../core/phi.ts";
import { type KeptMessage, listKeptMessages } from "../ledger/messages/views.ts";
import { digestOrder } from "../ledger/orders/row.ts";
import type { Mapper } from "../mapping/inbound/mapper.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { createMappers, profileOf } from "./connectors.ts";
import { toIncoming } from "./intake.ts";

/** A message that comes to something else now than it did. */
export interface RemapDifference {
  /** Such as `m12`. */
  readonly messageId: string;
  readonly was: Verdict;
  readonly is: Verdict;
  /** Codes of what is wrong with it now, or names of what differs in its orders; no values. */
  readonly what: readonly (FailureCode | string)[];
}

/** What mapping a connector's newest messages again shows. */
export interface Remapped {
  readonly connector: string;
  /** How many were mapped again. */
  readonly compared: number;
  /** When the oldest of them was received; undefined without any. */
  readonly since: Date | undefined;
  readonly differences: readonly RemapDifference[];
}

/** How many of a connector's newest messages are mapped again, at most. */
export const MOST_REMAPPED = 1_000;

/**
 * Maps the newest messages of each connector that the ledger and the configuration have by the configuration's profiles, and
 * compares what comes of them with what the ledger has. Nothing is changed.
 *
 * @throws the signal's reason
 */
export async function* remapKept(
  pool: pg.Pool,
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  signal: AbortSignal,
): AsyncGenerator<Remapped> {
  const mappers = createMappers(config, profiles);
  for (const connector of config.connectors) {
    const profile = profileOf(connector, profiles);
    const mapper = mappers.get(connector.name) as Mapper;
    const differences: RemapDifference[] = [];
    let compared = 0;
    let since: Date | undefined;
    for await (const page of listKeptMessages(pool, connector.name, MOST_REMAPPED)) {
      signal.throwIfAborted();
      for (const kept of page) {
        const { message } = kept;
        // A connector of this name may have had the other format once.
        if ((profile.format === "csv") !== (message.format === "csv")) continue;
        try {
          const mapped = mapper.map(toIncoming(message, connector, profile));
          differences.push(...findDifference(kept, mapped));
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
          continue;
        }
        compared += 1;
        if (since === undefined || message.receivedAt < since) since = message.receivedAt;
      }
    }
    yield { connector: connector.name, compared, since, differences };
  }
}

function findDifference({ message, orders: before }: KeptMessage, now: MappedMessage): RemapDifference[] {
  const { messageId, verdict: was } = message;
  const { verdict: is } = now;
  if (was !== is)
    return [{ messageId, was, is, what: [...new Set(now.problems.map(({ code }) => code))].sort() }];
  const digests = new Set(now.orders.map(digestOrder));
  // What repeats an earlier order made none, so there may be more orders now than then.
  const others = before.filter(
    (order) => !digests.has(digestOrder(order)) || !hasNumberOf(now.orders, order),
  );
  if (others.length === 0) return [];
  const what = others.flatMap((order) => namesOfOther(order, findSame(now.orders, order)));
  return [{ messageId, was, is, what: [...new Set(what)].sort() }];
}

/** An order but for where its values came from. */
type KeptOrder = Omit<Order, "sources">;

function hasNumberOf(orders: readonly Order[], { placerOrderNumber }: KeptOrder): boolean {
  return orders.some((each) => each.placerOrderNumber === placerOrderNumber);
}

/** The order that an order has become: the one of its number, or the only one. */
function findSame(now: readonly Order[], before: KeptOrder): Order | undefined {
  const [first, ...others] = now;
  return (
    now.find(({ placerOrderNumber }) => placerOrderNumber === before.placerOrderNumber) ??
    (others.length === 0 ? first : undefined)
  );
}

function namesOfOther(before: KeptOrder, now: Order | undefined): string[] {
  if (now === undefined) return ["order missing"];
  const values = (order: KeptOrder): Record<string, unknown> => ({
    operation: order.operation,
    "facility id": order.facilityId,
    "order number": order.placerOrderNumber,
    "subject code": shown(order.subject.code),
    "first name": shown(order.subject.firstName),
    "last name": shown(order.subject.lastName),
    "birth date": shown(order.subject.dateOfBirth),
    "prior subject code": shown(order.priorSubjectCode),
    "container labels": order.containers
      .map(({ label }) => label)
      .sort()
      .join("\n"),
    "container descriptions": order.containers
      .map(({ label, description }) => `${label}\n${description}`)
      .sort()
      .join("\n"),
  });
  const then = values(before);
  return Object.entries(values(now)).flatMap(([name, value]) => (then[name] === value ? [] : [name]));
}

/** Compared only; it goes nowhere. */
function shown(value: Phi | undefined): string | undefined {
  return value?.reveal();
}
