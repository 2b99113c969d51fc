import type pg from "pg";
import type { CancelAnswer, CancelWish } from "../../src/core/cancel.ts";
import type { MessageRecord } from "../../src/ledger/message-record.ts";
import { listOpenOutcomes } from "../../src/ledger/outcomes.ts";
import { aRecord } from "./orders.ts";

/** A message that does nothing but cancel. */
export function aCancel(
  ordinal: number,
  wishes: readonly CancelWish[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  return aRecord(ordinal, [], { messageControlId: `X${ordinal}`, cancellations: wishes, ...parts });
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
  const word = ({ refusal }: CancelAnswer) => refusal?.code ?? "CR";
  return open.flatMap(({ outcome }) => (outcome.kind === "cancellation" ? [outcome.answers.map(word)] : []));
}
