import type pg from "pg";
import type { Control, Wish, WishAnswer } from "../../src/core/wish.ts";
import type { MessageRecord } from "../../src/ledger/message-record.ts";
import { listOpenOutcomes } from "../../src/ledger/outcomes.ts";
import { aRecord } from "./orders.ts";

/** A message that does nothing but cancel. */
export function aCancel(
  ordinal: number,
  wishes: readonly Omit<Wish, "control">[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  return aWish(ordinal, "cancel", wishes, parts);
}

/** A message that does nothing but want something of earlier orders. */
export function aWish(
  ordinal: number,
  control: Control,
  wishes: readonly Omit<Wish, "control">[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  const all = wishes.map((wish) => ({ ...wish, control }));
  return aRecord(ordinal, [], { messageControlId: `X${ordinal}`, wishes: all, ...parts });
}

/** What the lab is still to be told: the kinds, with the state of a changed order. */
export async function toldKinds(pool: pg.Pool, connector = "lims"): Promise<string[]> {
  const open = await listOpenOutcomes(pool, connector, 100);
  return open.map(({ outcome }) =>
    outcome.kind === "changed" ? `changed ${outcome.order.state}` : outcome.kind,
  );
}

/** The answers to wishes that the lab is to be told, in order: `CR`, or the code of the refusal. */
export async function answers(pool: pg.Pool, connector = "lims"): Promise<string[][]> {
  const open = await listOpenOutcomes(pool, connector, 100);
  const word = ({ refusal }: WishAnswer) => refusal?.code ?? "CR";
  return open.flatMap(({ outcome }) => (outcome.kind === "wishes" ? [outcome.answers.map(word)] : []));
}
