import { type Condition, condition } from "../../core/condition.ts";
import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { describeOrphaned, hintForOrphaned } from "../../operator/things/orphaned.ts";

/** The same, as `status`, `check` and alerts have it. */
export function orphanedCondition(left: Pick<Orphaned, "connector"> & OrphanedWords): Condition {
  const { connector, text, since, hint } = left;
  return condition("connectorOrphaned", connector, text, { since, hint, command: "cryobridge queue" });
}

interface OrphanedWords {
  readonly text: string;
  /** ISO 8601. */
  readonly since: string;
  readonly hint: string;
}

/** What `status` says of it. */
export function orphanedWords(left: Orphaned): OrphanedWords {
  return { text: describeOrphaned(left), since: left.since.toISOString(), hint: hintForOrphaned(left) };
}
