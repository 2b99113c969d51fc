import type { OpenLedger } from "../app/open-ledger.ts";
import { openQueueBackend } from "../app/queue-backend.ts";
import type { Config } from "../config/config.ts";
import { type JobQueues, openQueues } from "../jobs/queues.ts";
import { findInstanceCode } from "../ledger/identity.ts";
import type { Session } from "./session.ts";

/** A command only reads, so there is nothing to wait for at the end. */
const CLOSE_WITHIN_MS = 1_000;

/** Opens BullMQ's queues for one command. @throws Failure QUEUE_UNAVAILABLE or LEDGER_UNAVAILABLE */
export async function withQueues<T>(
  session: Session,
  config: Config,
  ledger: OpenLedger,
  work: (queues: JobQueues) => Promise<T>,
): Promise<T> {
  const { backend, close } = openQueueBackend(config, ledger.connection, {
    instanceCode: await findInstanceCode(ledger.pool),
    logger: session.logger,
    connections: 4,
    applicationName: "cryobridge-cli-queue",
  });
  try {
    const queues = await openQueues(backend, session.logger);
    try {
      return await work(queues);
    } finally {
      await queues.close(CLOSE_WITHIN_MS);
    }
  } finally {
    await close();
  }
}
