import { readLeftBehind } from "../app/left-behind.ts";
import type { OpenLedger } from "../app/open-ledger.ts";
import type { Config } from "../config/config.ts";
import { mendLeftBehind, needsPerson, tellLeftBehind } from "../console/tell-left-behind.ts";
import type { Report } from "./check-report.ts";

/** A line for each connector of which something waits and that the configuration doesn't name. */
export async function checkLeftBehind(config: Config, { pool }: OpenLedger, report: Report): Promise<void> {
  for (const left of (await readLeftBehind(pool, config)).filter(needsPerson)) {
    report.add({
      subject: `connector ${left.connector}`,
      result: "warning",
      detail: tellLeftBehind(left),
      mend: mendLeftBehind(left),
    });
  }
}
