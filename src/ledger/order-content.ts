import { createHash } from "node:crypto";
import type pg from "pg";
import type { Order } from "../core/order.ts";

/** What an order asks for, as the ledger keeps it: plain JSON, with the patient's values in clear. */
export function contentOf(order: Order, digest: string = digestOrder(order)) {
  const { subject } = order;
  return {
    operation: order.operation,
    facility_code: order.facilityCode,
    facility_id: order.facilityId,
    subject_code: subject.code.reveal(),
    prior_subject_code: order.priorSubjectCode?.reveal(),
    placer_authority: order.placerAuthority,
    subject: {
      firstName: subject.firstName?.reveal(),
      lastName: subject.lastName?.reveal(),
      dateOfBirth: subject.dateOfBirth?.reveal(),
    },
    sources: order.sources,
    digest,
  };
}

/** Digest over everything an order asks for, whatever way it was written in the message; who numbered it is no part. Hex. */
export function digestOrder(order: Order): string {
  const { subject, priorSubjectCode } = order;
  const content = [
    order.operation,
    order.facilityId,
    subject.code.reveal(),
    subject.firstName?.reveal() ?? null,
    subject.lastName?.reveal() ?? null,
    subject.dateOfBirth?.reveal() ?? null,
    order.containers.map(({ label, description }) => [label, description]).sort(),
    ...(priorSubjectCode === undefined ? [] : [priorSubjectCode.reveal()]),
  ];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** $1 JSON array of containers. Index: the primary key of orders, for each container by itself. */
export const INSERT_CONTAINERS = `
insert into order_containers (order_id, position, lane, label, description)
select x.order_id, x.position, (select o.lane from orders o where o.id = x.order_id), x.label, x.description
  from jsonb_to_recordset($1::jsonb) as x(order_id bigint, position integer, label text, description text)`;

/** An order's containers as {@link INSERT_CONTAINERS} takes them. */
export function containerRows(
  orderId: number,
  containers: Order["containers"],
): { order_id: number; position: number; label: string; description: string }[] {
  return containers.map(({ label, description }, index) => ({
    order_id: orderId,
    position: index + 1,
    label,
    description,
  }));
}

/**
 * An order that the service doesn't have asks for something else from now on. The subject stays the same one, and so do
 * its name and birth date where the change tells none: nobody else's values are compared with the service's then. A new
 * mark, so that a call for the former content, should it ever show up late, is not taken for this one's. Who assigned
 * its number is known from then on, if it wasn't; $1 order id, $2 JSON of the content. Index: the primary key.
 */
const REPLACE_CONTENT = `
update orders o
   set operation = x.operation,
       facility_code = x.facility_code,
       facility_id = x.facility_id,
       subject = o.subject || x.subject,
       sources = o.sources || x.sources,
       content_digest = decode(x.digest, 'hex'),
       placer_authority = coalesce(o.placer_authority, x.placer_authority),
       overrides = '{}',
       called_at = null,
       known_request_ids = '{}',
       recheck_at = null,
       mark = new_mark(),
       former_marks = array_append(o.former_marks, o.mark)
  from jsonb_to_record($2::jsonb)
       as x(operation text, facility_code text, facility_id bigint, subject jsonb, sources jsonb, digest text,
            placer_authority jsonb)
 where o.id = $1`;

/** $1 order id. Index: the primary key. */
const DELETE_CONTAINERS = "delete from order_containers where order_id = $1";

/** Has an order ask for something else. The caller holds its row locked and knows that nothing has left of it. */
export async function replaceContent(client: pg.PoolClient, orderId: number, content: Order): Promise<void> {
  await client.query(REPLACE_CONTENT, [orderId, JSON.stringify(contentOf(content))]);
  await client.query(DELETE_CONTAINERS, [orderId]);
  const containers = containerRows(orderId, content.containers);
  if (containers.length > 0) await client.query(INSERT_CONTAINERS, [JSON.stringify(containers)]);
}
