/**
 * A process that uses the embedded server of a data folder, for tests that kill, stop or race such processes:
 * `node server-process.ts DATADIR [owner]`. Prints `ready`, then waits; SIGTERM makes it leave and print how.
 * A failure is printed as its code and message.
 */
import { pino } from "pino";
import { systemClock } from "../../../src/core/clock.ts";
import { asFailure } from "../../../src/core/failures.ts";
import { startEmbeddedPostgres } from "../../../src/ledger/embedded/embedded-postgres.ts";

const [dataDir = "", role] = process.argv.slice(2);
try {
  const server = await startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    logger: pino({ level: "silent" }),
    isOwner: role === "owner",
  });
  process.on("SIGTERM", async () => {
    console.log(await server.stop());
    process.exit(0);
  });
  console.log("ready");
} catch (error) {
  const failure = asFailure(error);
  console.log(`${failure.code}: ${failure.message}`);
  process.exit(1);
}
