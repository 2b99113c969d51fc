/** A process that takes the daemon lock of a data folder and keeps it: `node lock-process.ts DATADIR`. */
import { asFailure } from "../../../src/core/failures.ts";
import { acquireDaemonLock } from "../../../src/ledger/embedded/lock.ts";

try {
  await acquireDaemonLock(process.argv[2] ?? "");
  console.log("locked");
  setInterval(() => undefined, 60_000);
} catch (error) {
  const failure = asFailure(error);
  console.log(`${failure.code}: ${failure.message}`);
}
