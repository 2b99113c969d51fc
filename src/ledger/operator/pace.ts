import type pg from "pg";
import { list } from "../database.ts";

/** The order that has been in a state for longest. */
interface OldestOrder {
  readonly state: string;
  readonly since: Date;
}

/** How much of something went wrong within the last hour. */
interface Share {
  readonly wrong: number;
  readonly all: number;
}

/** What a connector took in lately. */
interface ConnectorPace extends Share {
  readonly connector: string;
}

/** When a connector's last message came. */
interface LatestMessage {
  readonly connector: string;
  readonly at: Date;
}

/** How fast and how well work goes through the ledger. */
export interface Pace {
  readonly oldest: readonly OldestOrder[];
  /** Orders that ended, and those of them that failed. */
  readonly ended: Share;
  /** Messages, and those of them that were refused. */
  readonly messages: readonly ConnectorPace[];
  readonly latest: readonly LatestMessage[];
}

/** $1 states. What the lab put on hold is old on purpose. Index: orders_state. */
const OLDEST = `
select s.state, o.changed_at as since
  from unnest($1::text[]) as s(state)
 cross join lateral (select e.changed_at
                       from orders e
                      where e.state = s.state
                        and e.held_at is null
                      order by e.changed_at
                      limit 1) o`;

/** Index: orders_state. */
const ENDED = `
select count(*)::integer as "all", count(*) filter (where o.state = 'failed')::integer as wrong
  from orders o
 where o.state in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
   and o.changed_at > now() - interval '1 hour'`;

/** $1 of how many messages at most, so that it costs the same however many there are. Index: the primary key. */
const MESSAGES = `
select m.connector, count(*)::integer as "all",
       count(*) filter (where m.verdict = 'refused')::integer as wrong
  from (select connector, verdict, received_at from messages order by id desc limit $1) m
 where m.received_at > now() - interval '1 hour'
 group by m.connector
 order by m.connector`;

/** $1 connectors. Index: messages_connector. */
const LATEST = `
select c.name as connector, m.received_at as at
  from unnest($1::text[]) as c(name)
 cross join lateral (select e.received_at
                       from messages e
                      where e.connector = c.name
                      order by e.id desc
                      limit 1) m`;

const MESSAGES_SEARCHED = 10_000;

/** How work goes. @param connectors those whose latest message is asked for */
export async function readPace(
  pool: pg.Pool,
  states: readonly string[],
  connectors: readonly string[],
): Promise<Pace> {
  const [oldest, ended, messages, latest] = await Promise.all([
    list<OldestOrder>(pool, OLDEST, [states]),
    list<Share>(pool, ENDED),
    list<ConnectorPace>(pool, MESSAGES, [MESSAGES_SEARCHED]),
    list<LatestMessage>(pool, LATEST, [connectors]),
  ]);
  return { oldest, ended: ended[0] ?? { wrong: 0, all: 0 }, messages, latest };
}
