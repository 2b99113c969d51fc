import type { Config } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import { recordAudit } from "../ledger/operator.ts";
import { hasLedger, withLedger } from "./configuration.ts";
import type { Session } from "./session.ts";

/**
 * Writes down that patients' values of the service are about to be shown, before any is asked for. Does nothing without
 * `--show-phi`.
 *
 * @param target what is read, such as `service subject 17`
 * @param filters names of the filters; their values may be a patient's
 * @throws Failure CLI_LEDGER_MISSING or LEDGER_… when it can't be written down; then nothing must be shown.
 */
export async function recordShown(
  session: Session,
  config: Config,
  target: string,
  filters: readonly string[] = [],
): Promise<void> {
  if (!session.mayShowPhi) return;
  if (!(await hasLedger(config))) {
    throw new Failure(
      "CLI_LEDGER_MISSING",
      `there is no ledger in ${config.dataDir} yet, so showing patients' data can't be recorded; nothing was read`,
    );
  }
  await withLedger(session, config, ({ pool }) =>
    recordAudit(pool, { actor: session.actor }, "show-phi", [
      { target, detail: filters.length === 0 ? {} : { filters } },
    ]),
  );
}
