import { createHash } from "node:crypto";
import type pg from "pg";
import { list } from "../database.ts";

/** The first entry of the audit that doesn't fit. */
export interface AuditFault {
  /** In the chain; undefined for an entry that is not in it. */
  readonly number?: number;
  /** What is wrong with it, for people. */
  readonly why: string;
}

/** What was found of the audit's chain. */
export interface AuditChain {
  /** Entries that fit, from the first on. */
  readonly count: number;
  /** Number and hash of the last one that fits. */
  readonly last: { readonly number: number; readonly hash: string } | undefined;
  readonly fault: AuditFault | undefined;
  /** The number of the entry with the expected hash; undefined when none has it. */
  readonly expectedNumber: number | undefined;
}

interface Link {
  readonly number: number;
  readonly auditId: number;
  readonly hash: string;
  /** The entry's text as the function `chain_audit` hashes it; undefined when the entry is gone. */
  readonly content: string | undefined;
}

/** A page of the chain; $1 after number, $2 limit. Indexes: the primary keys of both. */
const LINKS = `
select c.number, c.audit_id as "auditId", encode(c.hash, 'hex') as hash,
       case when a.id is not null then
         jsonb_build_array(c.number, a.id, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
                           a.actor, a.action, a.target, a.detail)::text
       end as content
  from audit_chain c
  left join audit a on a.id = c.audit_id
 where c.number > $1
 order by c.number
 limit $2`;

/** The first entry that the chain lacks. Indexes: audit_chain_audit_id_key, the primary key. */
const UNCHAINED = `
select a.id
  from audit a
 where not exists (select from audit_chain c where c.audit_id = a.id)
 order by a.id
 limit 1`;

const A_PAGE = 1_000;

/**
 * Follows the chain from its first entry to its last, or to the first that doesn't fit. The hashes are made here, since
 * whoever can change an entry can change a function of the database, too.
 *
 * @param expected a hash that a person noted
 * @param onEntries called now and then with how many were followed
 */
export async function verifyAudit(
  pool: pg.Pool,
  expected?: string,
  onEntries: (checked: number) => void = () => {},
): Promise<AuditChain> {
  let last = { number: 0, hash: "" };
  let expectedNumber: number | undefined;
  const found = (fault: AuditFault | undefined): AuditChain => ({
    count: last.number,
    last: last.number === 0 ? undefined : last,
    fault,
    expectedNumber,
  });
  for (;;) {
    const links = await list<Link>(pool, LINKS, [last.number, A_PAGE]);
    for (const link of links) {
      const fault = findFault(link, last);
      if (fault) return found(fault);
      last = link;
      if (link.hash === expected) expectedNumber = link.number;
    }
    onEntries(last.number);
    if (links.length < A_PAGE) break;
  }
  const [unchained] = await list<{ id: number }>(pool, UNCHAINED);
  return found(unchained && { why: `the entry with the id ${unchained.id} was added past the chain` });
}

function findFault(
  { number, content, hash }: Link,
  former: { readonly number: number; readonly hash: string },
): AuditFault | undefined {
  const next = former.number + 1;
  if (number !== next) return { number: next, why: "it was removed from the chain" };
  if (content === undefined) return { number, why: "it was removed" };
  const own = createHash("sha256").update(Buffer.from(former.hash, "hex")).update(content).digest("hex");
  return own === hash ? undefined : { number, why: "it was changed" };
}
