import type pg from "pg";
import type { IncomingMessage } from "../../src/core/intake.ts";
import type { Order } from "../../src/core/order.ts";
import { phi } from "../../src/core/phi.ts";
import { parseId } from "../../src/ledger/ids.ts";
import type { MessageRecord } from "../../src/ledger/messages/record.ts";
import { openFile } from "./files.ts";
import { at } from "./places.ts";

/** An order of an invented patient; parts can be replaced. */
export function anOrder(parts: Partial<Order> & { code?: string } = {}): Order {
  const { code = "SUBJ-1", ...rest } = parts;
  return {
    operation: "STORE",
    facilityCode: "NORTH",
    facilityId: 12,
    placerOrderNumber: "A-1",
    subject: {
      code: phi(code),
      firstName: phi("Ada"),
      lastName: phi("Example"),
      dateOfBirth: phi("1990-01-31"),
    },
    containers: [{ label: "V-1", description: "vial" }],
    sources: { "subject.code": at("PID-3.1") },
    ...rest,
  };
}

/** A message as a connector hands it over. */
export function aMessage(ordinal: number, text = `MSH|${ordinal}`): IncomingMessage {
  return {
    ordinal,
    place: at(`message ${ordinal}`),
    raw: phi(Buffer.from(text)),
    content: { kind: "hl7", text: phi(text) },
  };
}

/** A message with the orders that mapping made of it. */
export function aRecord(
  ordinal: number,
  orders: readonly Order[],
  parts: Partial<MessageRecord> = {},
): MessageRecord {
  return {
    message: aMessage(ordinal),
    messageControlId: `C${ordinal}`,
    messageType: "ORM^O01",
    verdict: "accepted",
    problems: [],
    orders,
    ...parts,
  };
}

let files = 0;

/** Commits records as one new file of a connector, and gives the ids of the orders that came of it. */
export async function commit(
  pool: pg.Pool,
  records: readonly MessageRecord[],
  connector = "lims",
): Promise<number[]> {
  files += 1;
  const sha256 = files.toString(16).padStart(64, "0");
  const file = { connector, fileName: `file-${files}.hl7`, sha256, sizeBytes: 1 };
  const opening = await openFile(pool, file, records);
  if (opening.status === "duplicate") throw new TypeError("each file is another one");
  return opening.verdicts.flatMap((verdict) =>
    verdict.orders.map((order) => parseId("o", order.orderId) as number),
  );
}
