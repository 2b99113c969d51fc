import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { Connector } from "../connectors/connector.ts";
import { aboutOn } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { EVERY_MS } from "../core/every.ts";
import { Failure, type FailureCode } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { patiently } from "../core/within.ts";
import { auditNoteFile, noteAuditEnd } from "../ledger/operator/audit-note.ts";
import type { Membership } from "../ledger/workers/membership.ts";
import { recordConditions } from "../ledger/workers/own-conditions.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { counted } from "../operator/text.ts";
import { untakenOf } from "../standing/attention/untaken.ts";
import type { UntakenRow } from "../standing/facts.ts";
import { untakenStatus } from "../standing/status.ts";
import { startLoop } from "./start-loop.ts";

interface OwnConditionsDeps {
  readonly pool: pg.Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This one among the workers of the ledger. */
  readonly worker: Pick<Membership, "id" | "isSure">;
  /** Which limits of its machine are exceeded. */
  readonly machineConditions: () => Promise<readonly Condition[]>;
  /** What keeps this daemon from its work. */
  readonly conditions: () => readonly Condition[];
}

/**
 * Begins to note this daemon's own conditions, and what fills or ends on its machine, in the ledger: one daemon looks after
 * alerts, and sees no other machine. Gives what ends that.
 */
export function noteOwnConditions(deps: OwnConditionsDeps): () => Promise<void> {
  const { pool, worker, machineConditions } = deps;
  let noted = "";
  return startLoop(
    deps,
    EVERY_MS.ownConditions,
    "the conditions of this daemon could not be noted",
    async () => {
      if (!worker.isSure) return false;
      const conditions = [...deps.conditions(), ...(await machineConditions())];
      // One that was taken for dead goes on under another number.
      const now = JSON.stringify([worker.id, conditions]);
      if (now === noted) return false;
      await recordConditions(pool, worker.id, conditions);
      noted = now;
      return false;
    },
  );
}

/** Failures of a connector that are none of its own. */
const OF_LEDGER: ReadonlySet<FailureCode | undefined> = new Set(["LEDGER_UNAVAILABLE", "LEDGER_REFUSED"]);

/** What keeps connectors from taking what comes in, and what they warn of. */
export function connectorConditions(
  connectors: readonly Pick<Connector, "name" | "trouble" | "warning" | "failureCode">[],
  host: string,
): Condition[] {
  return connectors.flatMap(({ name, trouble: down, warning, failureCode }) =>
    [down, warning].flatMap((words) => {
      if (!words) return [];
      const code = words === (down ?? warning) ? failureCode : undefined;
      const cause = OF_LEDGER.has(code) ? ("ledger" as const) : undefined;
      const more = { stopsIntake: words === down, code, cause };
      return [condition("connectorDown", aboutOn(host, name), `connector ${name}: ${words}`, more)];
    }),
  );
}

/** Files that lie in drop folders and are not taken. */
export function listUntaken(connectors: readonly Connector[]): UntakenRow[] {
  return connectors.flatMap(({ name, untaken = [] }) =>
    untaken.map((files) => ({ ...files, connector: name })),
  );
}

/** The same as what other daemons are to know of it. */
export function untakenConditions(connectors: readonly Connector[]): Condition[] {
  return untakenOf({ untakenFiles: untakenStatus({ untaken: () => listUntaken(connectors) }) });
}

/** Longer than a disk takes that works: one of a server that is away must keep nobody from stopping. */
const WITHIN_MS = 5_000;
const UNNOTED = "the end of the audit is not noted, so that nobody would see it cut off";

/** Watches whether the audit loses its end, and whether that could be seen. */
interface AuditWatch {
  conditions(): Condition[];
  stop(): Promise<void>;
}

/** Begins to note the audit's end in a file each minute, after it was compared with what was noted before. */
export function watchAudit(
  { epochFile }: Pick<Config, "epochFile">,
  deps: { readonly pool: pg.Pool; readonly clock: Clock; readonly logger: Logger },
): AuditWatch {
  let found: Condition | undefined;
  const file = auditNoteFile(epochFile);
  const note = patiently(() => noteEnd(deps.pool, file), WITHIN_MS, deps.clock);
  const stop = startLoop(deps, EVERY_MS.auditEnd, "the end of the audit could not be noted", async () => {
    const { value, isLate } = await note();
    const text = isLate ? `${UNNOTED}: ${file}, or the ledger, does not answer` : value;
    if (text !== undefined && text !== found?.text) deps.logger.warn(text);
    const cause = isLate ? "ledger" : undefined;
    found = text === undefined ? undefined : condition("daemonTrouble", "audit", text, { cause });
    return false;
  });
  return { conditions: () => (found ? [found] : []), stop };
}

/** Gives what is wrong, for people; a ledger that is away is a condition of its own. @throws Failure of the ledger */
async function noteEnd(pool: pg.Pool, file: string): Promise<string | undefined> {
  try {
    const fault = await noteAuditEnd(pool, file);
    return fault && `entry ${fault.number} of the audit does not fit: ${fault.why}`;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "LEDGER_FOLDER_UNUSABLE") throw error;
    return `${UNNOTED}: ${error.message}`;
  }
}

/** A loop that stands for longer is reported, ms: everything else has waited for as long. */
const LONG_MS = 1_000;
/** How long it is reported afterwards, ms: who asks can't be answered while it stands. */
const REPORTED_FOR_MS = 60_000;
/** Standing for so long, or again and again for so long, has a cause that stays, ms: a person has to find it. */
const TOO_LONG_MS = 10_000;
const AGAIN_FOR_MS = 120_000;

interface EventLoopWatch {
  /** That it stood lately, for people; empty when it didn't. */
  conditions(): Condition[];
  stop(): void;
}

/**
 * Begins to watch the event loop: where something keeps it for more than a second, no message is answered, no health asked
 * and no lease renewed meanwhile. One line of the log says so, and for a minute the readiness.
 */
export function watchEventLoop(host: string, clock: Clock, logger: Logger): EventLoopWatch {
  let lookedAt = clock.monotonic();
  let stood: { readonly ms: number; readonly until: number; readonly since: number } | undefined;
  const timer = setInterval(() => {
    const now = clock.monotonic();
    const ms = now - lookedAt - EVERY_MS.eventLoop;
    lookedAt = now;
    if (ms <= LONG_MS) return;
    const isAgain = stood !== undefined && now - stood.until <= REPORTED_FOR_MS;
    stood = { ms, until: now, since: isAgain && stood ? stood.since : now };
    logger.warn({ ms: Math.round(ms) }, "the event loop stood still: nothing else was done meanwhile");
  }, EVERY_MS.eventLoop);
  timer.unref();
  return {
    conditions: () =>
      stood === undefined || clock.monotonic() - stood.until > REPORTED_FOR_MS
        ? []
        : [
            condition(
              "daemonTrouble",
              aboutOn(host, "event loop"),
              `the event loop stood still for ${(stood.ms / 1_000).toFixed(1)} s within the last minute: nothing was answered meanwhile; the log says when`,
              {
                level: stood.ms > TOO_LONG_MS || stood.until - stood.since > AGAIN_FOR_MS ? "act" : "look",
              },
            ),
          ],
    stop: () => clearInterval(timer),
  };
}

/** For how long it is said after the last one, ms. */
const SAID_FOR_MS = 86_400_000;

interface Seen {
  readonly connector: string;
  readonly column: string;
  /** By which they were composed: with another one they may be taken. */
  readonly profile: Profile;
  readonly values: number;
  readonly lastAt: number;
}

/** Values of result columns that the columns' transforms don't take: the lab reads them as they came, in English mostly. */
export class UntakenValues {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** One more value of a column. */
  note(connector: string, column: string, profile: Profile): void {
    const key = JSON.stringify([connector, column]);
    const before = this.#seen.get(key);
    const values = before?.profile === profile ? before.values + 1 : 1;
    this.#seen.set(key, { connector, column, profile, values, lastAt: this.#clock.monotonic() });
  }

  /**
   * What of it is less than a day old.
   *
   * @param profileOf a connector's profile as it is now: what was composed by an earlier one is corrected, or seen again
   */
  conditions(profileOf: (connector: string) => Profile | undefined): Condition[] {
    const since = this.#clock.monotonic() - SAID_FOR_MS;
    return [...this.#seen.values()]
      .filter(({ connector, profile, lastAt }) => lastAt > since && profileOf(connector) === profile)
      .map(({ connector, column, values }) => {
        const text = `connector ${connector}: the lab read ${counted(values, "value")} of the column ${column} as they came, since the profile's transforms don't take them; \`cryobridge check\` names the words`;
        return condition("daemonTrouble", `${connector} ${column}`, text, { level: "look" });
      });
  }
}
