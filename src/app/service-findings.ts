import type pg from "pg";
import type { Config } from "../config/config.ts";
import type { ServiceChange } from "../console/deps.ts";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { listDrifted, listFindings, recordFinding } from "../ledger/service-findings.ts";
import {
  describeChange,
  FINDING_KINDS,
  type FindingChange,
  type FindingKind,
  type ServiceFinding,
} from "../service/findings.ts";

/** How long a change is told as a trouble; the ledger remembers it for longer. */
const TROUBLE_MS = 86_400_000;

/** The ledger's memory of how the service behaves, for one client of it. */
export interface KeptFindings {
  /** What earlier runs found out. */
  readonly knownFindings: readonly ServiceFinding[];
  readonly onFinding: (change: FindingChange) => void;
  /** The last change, for a day after it was noticed. */
  troubles(): string[];
  /** Waits until what was found is written down. */
  close(): Promise<void>;
}

/**
 * Reads what earlier runs found out, and keeps what is found from now on, one after the other. When the ledger is away a
 * finding is not kept: the next start then compares with an older one, and tells of the change again.
 */
export async function keepFindings(
  pool: pg.Pool,
  config: Config,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<KeptFindings> {
  const service = config.service.baseUrl;
  const stored = await listFindings(pool, service);
  let writing: Promise<void> = Promise.resolve();
  let lastDrift: { readonly text: string; readonly at: number } | undefined;
  return {
    knownFindings: stored.flatMap((each) => (isKind(each.kind) ? [{ ...each, kind: each.kind }] : [])),
    onFinding: (change) => {
      if (change.isDrift) lastDrift = { text: describeChange(change), at: clock.monotonic() };
      writing = writing
        .then(() => recordFinding(pool, service, change))
        .catch((error: unknown) =>
          logger.warn({ err: error }, "a finding about the service could not be kept"),
        );
    },
    troubles: () =>
      lastDrift && clock.monotonic() - lastDrift.at < TROUBLE_MS
        ? [`the storage service changed its behaviour (see cryobridge check): ${lastDrift.text}`]
        : [],
    close: () => writing,
  };
}

/** What the service changed so far, latest first, in words. */
export async function readServiceChanges(pool: pg.Pool, config: Config): Promise<ServiceChange[]> {
  const drifted = await listDrifted(pool, config.service.baseUrl);
  return drifted.flatMap((each) => {
    const { kind, drifts, driftedAt } = each;
    if (!isKind(kind)) return [];
    return [{ finding: kind, text: describeChange({ ...each, kind }), count: drifts, changedAt: driftedAt }];
  });
}

/** A later release may know more kinds. */
function isKind(kind: string): kind is FindingKind {
  return (FINDING_KINDS as readonly string[]).includes(kind);
}
