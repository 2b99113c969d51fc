import type pg from "pg";
import type { Config } from "../config/config.ts";
import { type Trouble, trouble } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import { Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { patiently } from "../core/within.ts";
import { auditNoteFile, noteAuditEnd } from "../ledger/operator/audit-note.ts";
import { startLoop } from "./side-work.ts";

/** Longer than a disk takes that works: one of a server that is away must keep nobody from stopping. */
const WITHIN_MS = 5_000;
const UNNOTED = "the end of the audit is not noted, so that nobody would see it cut off";

/** Watches whether the audit loses its end, and whether that could be seen. */
interface AuditWatch {
  troubles(): Trouble[];
  stop(): Promise<void>;
}

/** Begins to note the audit's end in a file each minute, after it was compared with what was noted before. */
export function watchAudit(
  { epochFile }: Pick<Config, "epochFile">,
  deps: { readonly pool: pg.Pool; readonly clock: Clock; readonly logger: Logger },
): AuditWatch {
  let found: Trouble | undefined;
  const file = auditNoteFile(epochFile);
  const note = patiently(() => noteEnd(deps.pool, file), WITHIN_MS, deps.clock);
  const stop = startLoop(deps, EVERY_MS.auditEnd, "the end of the audit could not be noted", async () => {
    const { value, isLate } = await note();
    const text = isLate ? `${UNNOTED}: ${file} does not answer` : value;
    if (text !== undefined && text !== found?.text) deps.logger.warn(text);
    found = text === undefined ? undefined : trouble("daemonTrouble", "audit", text);
    return false;
  });
  return { troubles: () => (found ? [found] : []), stop };
}

/** Gives what is wrong, for people; a ledger that is away is a trouble of its own. @throws Failure of the ledger */
async function noteEnd(pool: pg.Pool, file: string): Promise<string | undefined> {
  try {
    const fault = await noteAuditEnd(pool, file);
    return fault && `entry ${fault.number} of the audit does not fit: ${fault.why}`;
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "LEDGER_FOLDER_UNUSABLE") throw error;
    return `${UNNOTED}: ${error.message}`;
  }
}
