import type pg from "pg";
import type { Control, ControlRequest } from "../../src/core/order-control.ts";
import type { ControlAnswer } from "../../src/core/outcome.ts";
import type { MessageRecord } from "../../src/ledger/messages/record.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { aRecord } from "./orders.ts";

/** A message that does nothing but cancel. */
export function aCancel(
  ordinal: number,
  requests: readonly Omit<ControlRequest, "control">[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  return aControl(ordinal, "cancel", requests, parts);
}

/** A message that does nothing but want something of earlier orders. */
export function aControl(
  ordinal: number,
  control: Control,
  requests: readonly Omit<ControlRequest, "control">[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  const all = requests.map((request) => ({ ...request, control }));
  return aRecord(ordinal, [], { messageControlId: `X${ordinal}`, controlRequests: all, ...parts });
}

/** What is still to be reported to the lab: the kinds, with the state of a changed order. */
export async function reportedKinds(pool: pg.Pool, connector = "lims"): Promise<string[]> {
  const open = await listOpenOutcomes(pool, connector, 100);
  return open.map(({ outcome }) =>
    outcome.kind === "changed" ? `changed ${outcome.order.state}` : outcome.kind,
  );
}

/** The answers to requests that are due to the lab, in order: `CR`, or the code of the refusal. */
export async function answers(pool: pg.Pool, connector = "lims"): Promise<string[][]> {
  const open = await listOpenOutcomes(pool, connector, 100);
  const word = ({ refusal }: ControlAnswer) => refusal?.code ?? "CR";
  return open.flatMap(({ outcome }) => (outcome.kind === "control" ? [outcome.answers.map(word)] : []));
}
