import type pg from "pg";
import { list } from "../database.ts";
import { findLastMessages } from "./activity.ts";

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
  /** Undefined when none ever came. */
  readonly at: Date | undefined;
  /** Since when a daemon has worked with the connector; undefined when none has. */
  readonly since: Date | undefined;
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

/**
 * $1 states, $2 whether a parked order holds its lane. What the lab put on hold is old on purpose, and what waits behind a parked one is as
 * old as that. Indexes: orders_state, orders_lane.
 */
const OLDEST = `
select s.state, o.changed_at as since
  from unnest($1::text[]) as s(state)
 cross join lateral (select e.changed_at
                       from orders e
                      where e.state = s.state
                        and e.held_at is null
                        and not ($2 and e.state = 'received' and exists (
                          select from orders p
                           where p.facility_id = e.facility_id
                             and p.subject_code = e.subject_code
                             and p.state = 'parked'
                             and p.id < e.id))
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

/** Since when daemons have worked with a connector; $1 connectors. No index: there are few workers. */
const SINCE = `
select c.name as connector,
       (select min(w.started_at) from workers w where c.name = any (w.connectors)) as since
  from unnest($1::text[]) as c(name)`;

const MESSAGES_SEARCHED = 10_000;

/** How work goes. @param connectors those whose latest message is asked for @param doesParkedBlock whether a parked order holds its lane */
export async function readPace(
  pool: pg.Pool,
  states: readonly string[],
  connectors: readonly string[],
  doesParkedBlock: boolean,
): Promise<Pace> {
  const [oldest, ended, messages, since, lastMessages] = await Promise.all([
    list<OldestOrder>(pool, OLDEST, [states, doesParkedBlock]),
    list<Share>(pool, ENDED),
    list<ConnectorPace>(pool, MESSAGES, [MESSAGES_SEARCHED]),
    list<Pick<LatestMessage, "connector" | "since">>(pool, SINCE, [connectors]),
    findLastMessages(pool, connectors),
  ]);
  const latest = since.map((each) => ({ ...each, at: lastMessages.get(each.connector) }));
  return { oldest, ended: ended[0] ?? { wrong: 0, all: 0 }, messages, latest };
}
