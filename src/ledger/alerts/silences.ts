import type pg from "pg";
import type { AlertKind } from "../../core/condition-kinds.ts";
import { inTransaction, list, run } from "../database.ts";
import { formatId } from "../ids.ts";
import { type Act, recordAudit } from "../operator/audit.ts";

/** What is silenced: one alert, or with `about` null all of a kind. */
export interface Silenced {
  readonly kind: AlertKind;
  readonly about: string | null;
}

/** A silence of the ledger. */
export interface Silence extends Silenced {
  readonly id: number;
  readonly createdAt: Date;
  readonly until: Date;
  readonly actor: string;
  readonly reason: string;
}

const SILENCES = `
select s.id, s.kind, s.about, s.created_at as "createdAt", s.until_at as "until", s.actor, s.reason
  from alert_silences s`;

/** $1 limit. Index: alert_silences_until. */
const CURRENT = `${SILENCES} where s.until_at > now() order by s.until_at, s.id limit $1`;

/** The silences that have not ended, the next one to end first. */
export async function listSilences(pool: pg.Pool, limit: number): Promise<Silence[]> {
  return (await list<Silence>(pool, CURRENT, [limit])).map(withNullAbout);
}

/** A silence, ended or not; undefined when there is none of that number. */
export async function findSilence(pool: pg.Pool, id: number): Promise<Silence | undefined> {
  return (await list<Silence>(pool, `${SILENCES} where s.id = $1`, [id])).map(withNullAbout)[0];
}

/** An empty `about` means something else than none. */
function withNullAbout(silence: Silence): Silence {
  return { ...silence, about: silence.about ?? null };
}

/** $1 kind, $2 about, $3 ms, $4 actor, $5 reason. */
const SILENCE = `
insert into alert_silences (kind, about, until_at, actor, reason)
values ($1, $2, now() + $3 * interval '1 millisecond', $4, $5)
returning until_at as "until"`;

/** Silences an alert, or all of a kind; gives until when. */
export function silenceAlerts(
  pool: pg.Pool,
  { kind, about }: Silenced,
  forMs: number,
  act: Act & { readonly reason: string },
): Promise<Date> {
  return inTransaction(pool, async (client) => {
    const values = [kind, about, forMs, act.actor, act.reason];
    const { rows } = await client.query<{ until: Date }>(SILENCE, values);
    const until = rows[0]?.until ?? new Date(0);
    const target = about === null || about === "" ? kind : `${kind} ${about}`;
    await recordAudit(client, act, "alert-silence", [{ target, detail: { until, reason: act.reason } }]);
    return until;
  });
}

/** $1 id. */
const END = "update alert_silences set until_at = now() where id = $1 and until_at > now()";

/** Ends a silence: what it kept back is announced if it still holds. False when it had ended already. */
export function endSilence(pool: pg.Pool, id: number, act: Act): Promise<boolean> {
  return inTransaction(pool, async (client) => {
    const done = await client.query(END, [id]);
    if (done.rowCount !== 1) return false;
    const target = formatId("s", id);
    await recordAudit(client, act, "alert-unsilence", [{ target, detail: { reason: act.reason ?? null } }]);
    return true;
  });
}

/** $1 ms. Index: alert_silences_until. */
const FORGET = "delete from alert_silences where until_at < now() - $1 * interval '1 millisecond'";

/** Forgets silences that ended long ago. */
export async function forgetSilences(pool: pg.Pool, keptMs: number): Promise<void> {
  await run(pool, FORGET, [keptMs]);
}
