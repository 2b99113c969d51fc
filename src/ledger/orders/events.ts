import type { OrderState } from "../../core/order-state.ts";
import { prepared, type Queryable } from "../database.ts";

/** An entry of an order's timeline. */
export interface NewEvent {
  readonly orderId: number;
  readonly kind: string;
  readonly toState?: OrderState | undefined;
  /** No patient's values. */
  readonly detail?: Readonly<Record<string, unknown>> | undefined;
}

/** $1 JSON array of {@link NewEvent}. */
const INSERT_EVENTS = `
insert into order_events (order_id, kind, to_state, detail)
select x."orderId", x.kind, x."toState", coalesce(x.detail, '{}')
  from rows from (jsonb_to_recordset($1::jsonb) as ("orderId" bigint, kind text, "toState" text, detail jsonb))
       with ordinality as x("orderId", kind, "toState", detail, n)
 order by x.n`;

/** Adds to orders' timelines, in this order. */
export async function recordEvents(client: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await prepared(client, "insert_events", INSERT_EVENTS, [JSON.stringify(events)]);
}
