import type pg from "pg";
import type { KeptAnswer } from "../../core/failures.ts";
import { type Phi, phi } from "../../core/phi.ts";
import { list } from "../database.ts";

interface OrderAnswer {
  readonly orderId: number;
  /** What the answer was taken to mean. */
  readonly failureCode: string;
  readonly answer: KeptAnswer;
}

/** A body without what differs each time: times, also as seconds since 1970, and long ids. */
const withoutIds = (body: string) =>
  `regexp_replace(${body}, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+|[0-9a-fA-F-]{16,}|[0-9]{10,}', '', 'g')`;

/** Further answers of an order push out its oldest ones. */
export const MOST_ANSWERS = 10;

/**
 * Notes that the newest answer of the order came once more, but for times and ids in it; $1 order id, $2 method, $3 route, $4 status, $5 failure code,
 * $6 body. Index: order_answers_order.
 */
const REPEAT_ANSWER = `
update order_answers a
   set times = a.times + 1,
       last_at = now(),
       body = $6
 where a.id = (select max(n.id)
                 from order_answers n
                where n.order_id = $1)
   and a.method = $2
   and a.route = $3
   and a.status = $4
   and a.failure_code = $5
   and ${withoutIds("a.body")} is not distinct from ${withoutIds("$6::text")}
returning a.id`;

/** $1 order id, $2 method, $3 route, $4 status, $5 failure code, $6 body, $7 shape, $8 content type, $9 error code. */
const INSERT_ANSWER = `
insert into order_answers (order_id, method, route, status, failure_code, body, shape, content_type, error_code)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** All but the newest answers of an order; $1 order id, $2 how many stay. Index: order_answers_order. */
const DROP_OLDEST = `
delete from order_answers
 where id in (select a.id
                from order_answers a
               where a.order_id = $1
               order by a.id desc
              offset $2)`;

/** Answers of an order, oldest first; $1 order id. Index: order_answers_order. */
const LIST_ANSWERS = `
select first_at as "firstAt", last_at as "lastAt", times, method, route, status, shape, content_type as "contentType",
       error_code as "errorCode", failure_code as "failureCode", body
  from order_answers
 where order_id = $1
 order by id`;

/** Keeps an answer with its order, within a transaction that the caller began. The same answer again is counted. */
export async function insertOrderAnswer(client: pg.PoolClient, given: OrderAnswer): Promise<void> {
  const { orderId, failureCode, answer } = given;
  const body = answer.body?.reveal() ?? null;
  const same = [orderId, answer.method, answer.route, answer.status, failureCode, body];
  const { rowCount } = await client.query(REPEAT_ANSWER, same);
  if (rowCount === 1) return;
  const { shape, contentType = null, errorCode = null } = answer;
  await client.query(INSERT_ANSWER, [...same, shape, contentType, errorCode]);
  await client.query(DROP_OLDEST, [orderId, MOST_ANSWERS]);
}

/** An answer as it is kept, for showing. */
export interface KeptOrderAnswer {
  readonly firstAt: Date;
  readonly lastAt: Date;
  /** How often in a row it came. */
  readonly times: number;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly shape: KeptAnswer["shape"];
  readonly contentType: string | undefined;
  readonly errorCode: string | undefined;
  readonly failureCode: string;
  /** Without the order's own values; what else it says may be about anybody. */
  readonly body: Phi | undefined;
}

/** The answers that are kept with an order, oldest first. */
export async function listOrderAnswers(pool: pg.Pool, orderId: number): Promise<KeptOrderAnswer[]> {
  type Row = Omit<KeptOrderAnswer, "body"> & { readonly body: string | undefined };
  const rows = await list<Row>(pool, LIST_ANSWERS, [orderId]);
  return rows.map(({ body, ...row }) => ({ ...row, body: body === undefined ? undefined : phi(body) }));
}
