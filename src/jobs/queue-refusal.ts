import { Failure } from "../core/failures.ts";
import { asSentence, type TlsSettings, tlsTroubleOf } from "../core/tls-trouble.ts";
import { asLedgerFailure, asRefusal } from "../ledger/database-failures.ts";

/** Why a server that answers does not do what the queues ask of it. */
export interface QueueRefusal {
  /** Of Redis with the first word of its reply, such as `READONLY: it is a replica, which takes no changes`. */
  readonly why: string;
  /** What a person does about it. */
  readonly hint: string;
}

const NOPERM: readonly [why: string, hint: string] = [
  "its access list keeps the user from a command, or from the keys, that the queues need",
  "`ACL LOG` at the server says which. Allow it all keys and channels of the queues and the commands of them: `ACL SETUSER name ~* &* +@all -@admin -@dangerous +info +client +keys`.",
];

/** By the first word of Redis's reply. */
const BY_WORD: Readonly<Record<string, readonly [why: string, hint: string]>> = {
  MISCONF: [
    "it can't save its data to its disk",
    "Free room on the disk of Redis, or correct the rights of its folder; Redis's own log says which. It takes changes again once it could save.",
  ],
  OOM: ["its memory is full", "Give Redis more memory (`maxmemory`), or remove what others keep there."],
  READONLY: [
    "it is a replica, which takes no changes",
    "Name the primary in `queue.url`, or all sentinels in `queue.sentinels`; or make this server the primary (`REPLICAOF NO ONE`).",
  ],
  NOAUTH: [
    "it asks for a password",
    "Set `queue.password`, or write the password into `queue.url`; that of sentinels is `queue.sentinels.password`.",
  ],
  WRONGPASS: [
    "it refuses the user or the password",
    "Correct `queue.username` and `queue.password`, or those in `queue.url`; those of sentinels are in `queue.sentinels`.",
  ],
  NOPERM,
  LOADING: ["it still loads its data", "Wait until it is done; nothing is lost."],
  BUSY: ["a script of somebody keeps it busy", "End that script: `SCRIPT KILL`."],
  MASTERDOWN: ["its primary is out of reach", "Start the primary, or make a replica the primary."],
  CLUSTERDOWN: [
    "the cluster is not whole",
    "Start the nodes that are away; `CLUSTER INFO` and `CLUSTER NODES` say which.",
  ],
  TRYAGAIN: ["the cluster moves keys", "Wait until the move is done."],
  NOREPLICAS: [
    "too few replicas follow it (`min-replicas-to-write`)",
    "Start its replicas, or lower `min-replicas-to-write`.",
  ],
};
const OTHERWISE = "Look at the log of Redis and at its settings.";

/** Those replies that begin with `ERR`, and whose words say more. */
const ERR_WORDS: readonly (readonly [RegExp, why: string, hint: string])[] = [
  [/ACL failure|no permissions|executing the script can't/, ...NOPERM],
  [
    /max number of clients/,
    "it has no connection left (`maxclients`)",
    "Raise `maxclients` of Redis, or end connections of others.",
  ],
  [
    /unknown command|unknown subcommand/,
    "it lacks a command that the queues need, or has it under another name",
    "Use Redis 6.2 or later, or Valkey, without `rename-command`.",
  ],
  [
    /DB index is out of range|SELECT is not allowed/,
    "it has no such database number",
    "Correct the number at the end of `queue.url`.",
  ],
  [
    /DENIED|protected mode/i,
    "it takes no connections of other machines (protected mode)",
    "Give Redis a password, and name it here.",
  ],
];

const KNOWN = new RegExp(`\\b(${Object.keys(BY_WORD).join("|")})\\b`);
const REDIS_TLS: TlsSettings = {
  ca: "`queue.ca`",
  name: "`queue.url`, `queue.sentinels` or `queue.cluster`",
};
/** Replies that ioredis and BullMQ deal with. */
const PART_OF_THE_WAY = /^(NOSCRIPT|MOVED|ASK|UNBLOCKED|NOPROTO)\b/;
const FIRST_WORD = /^-?([A-Z][A-Z_]{2,19})(?=[\s:]|$)/;

/**
 * Why a server refused, by the error of BullMQ, ioredis or pg; undefined for any other error. Nothing of the server's own text
 * but its first word is kept, since the rest may quote what it was sent.
 */
export function refusalOf(error: unknown): QueueRefusal | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof Failure) return error.cause === undefined ? undefined : refusalOf(error.cause);
  return ofPostgres(error) ?? ofRedis(error);
}

/** SQLSTATEs of a server that answers and does not take what it is sent. */
const SQLSTATE = /^(?:28|3D|42501|0A|53|25006|57P03)/;

function ofPostgres(error: Error): QueueRefusal | undefined {
  if (!("code" in error) || !SQLSTATE.test(String(error.code))) return undefined;
  if (error.code === "42501")
    return {
      why: "the database does not let the user make or use the schema bullmq, SQLSTATE 42501",
      hint: "Give the schema to the user of `database.url`: `ALTER SCHEMA bullmq OWNER TO name`, and the tables in it.",
    };
  const failure = asRefusal(error) ?? asLedgerFailure(error);
  return failure instanceof Failure ? { why: failure.message, hint: failure.hint } : undefined;
}

function ofRedis(error: Error): QueueRefusal | undefined {
  const last = "lastNodeError" in error ? refusalOf(error.lastNodeError) : undefined;
  if (last !== undefined) return last;
  const tls = tlsTroubleOf(error, REDIS_TLS);
  if (tls !== undefined) return { why: tls.why, hint: asSentence(tls.lead) };
  const { message } = error;
  if (PART_OF_THE_WAY.test(message)) return undefined;
  // What a script was refused stands within a longer text; so does what a sentinel, or the first look at a server, said.
  const known = KNOWN.exec(message)?.[1];
  const more = known === undefined ? ERR_WORDS.find(([pattern]) => pattern.test(message)) : undefined;
  const first = error.name === "ReplyError" ? FIRST_WORD.exec(message)?.[1] : undefined;
  const word = known ?? first ?? (more && "ERR");
  if (word === undefined) return undefined;
  const [, why, hint] = more ?? [undefined, ...(BY_WORD[word] ?? ["it refuses a command", OTHERWISE])];
  return { why: `${word}: ${why}`, hint: hint ?? OTHERWISE };
}
