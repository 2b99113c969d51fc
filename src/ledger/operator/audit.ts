import { type Queryable, run } from "../database.ts";

/** Who did it and why, for the audit. */
export interface Act {
  /** The operating system's user, or the console's. */
  readonly actor: string;
  readonly reason?: string | undefined;
}

/** $1 actor, $2 action, $3 JSON array of {target, detail}. */
const INSERT_AUDIT = `
insert into audit (actor, action, target, detail)
select $1, $2, x.target, coalesce(x.detail, '{}')
  from jsonb_to_recordset($3::jsonb) as x(target text, detail jsonb)`;

/** Records what a person, or a connector for the lab, did or saw. */
export async function recordAudit(
  client: Queryable,
  { actor }: Act,
  action: string,
  targets: readonly { readonly target: string; readonly detail?: Readonly<Record<string, unknown>> }[],
): Promise<void> {
  await run(client, INSERT_AUDIT, [actor, action, JSON.stringify(targets)]);
}
