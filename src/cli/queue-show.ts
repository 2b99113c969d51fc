import type { Command } from "commander";
import type { FailureCode } from "../core/failures.ts";
import { Failure } from "../core/failures.ts";
import { QUEUE_NAMES } from "../jobs/queues.ts";
import { parseId } from "../ledger/ids.ts";
import { type DeliveryDetails, findDelivery } from "../ledger/queue-views.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { withQueues } from "./open-queues.ts";
import { deliveryJson } from "./order-json.ts";
import { showOrders } from "./orders-show.ts";
import { problemLines } from "./problem-lines.ts";
import { jobJson, jobTable } from "./queue-list.ts";
import type { Session } from "./session.ts";
import { renderFields } from "./table.ts";
import { timeWithAge } from "./times.ts";

/** A job that isn't among so many of its queue is not looked for further: the window of jobs is smaller. */
const MOST_JOBS = 5_000;

/** `queue show`. */
export async function showQueueCommand(session: Session, command: Command): Promise<undefined> {
  const [word] = command.processedArgs as [string];
  const config = readConfig(session);
  await withLedger(session, config, async (ledger) => {
    if (parseId("o", word) !== undefined) return showOrders(session, config, ledger.pool, word);
    const deliveryId = parseId("d", word);
    if (deliveryId !== undefined) {
      const delivery = await findDelivery(ledger.pool, deliveryId);
      if (!delivery) throw new Failure("CLI_NOT_FOUND", `no delivery ${word}`);
      return showDelivery(delivery, session);
    }
    const jobs = await withQueues(session, config, ledger, async (queues) =>
      (await Promise.all(QUEUE_NAMES.map((name) => queues.list(name, MOST_JOBS)))).flat(),
    );
    const found = jobs.filter(({ jobId }) => jobId === word);
    if (found.length === 0) {
      throw new Failure("CLI_NOT_FOUND", `no order, delivery or job ${word}; finished jobs are not kept`);
    }
    if (session.isJson) session.json({ jobs: found.map(jobJson) });
    else for (const line of jobTable(found, session)) session.line(line);
  });
  return undefined;
}

function showDelivery(delivery: DeliveryDetails, session: Session): void {
  const { sizeBytes, orderIds, failure } = delivery;
  if (session.isJson) {
    session.json({ ...deliveryJson(delivery), sizeBytes: sizeBytes ?? null, orderIds });
    return;
  }
  const now = session.clock.now();
  session.line(`Delivery ${delivery.deliveryId}: ${session.paint("bold", delivery.state)}`);
  session.line();
  const fields = renderFields([
    ["file", delivery.fileName],
    ["connector", delivery.connector],
    ["size", sizeBytes === undefined ? "pruned by retention" : `${sizeBytes} bytes`],
    ["tells about", orderIds.join(" ") || "a message as a whole"],
    ["made", timeWithAge(delivery.createdAt, now)],
    ["delivered", delivery.deliveredAt && timeWithAge(delivery.deliveredAt, now)],
    ["attempts", String(delivery.attempts)],
    ["next try", nextTry(delivery, now)],
  ]);
  for (const line of fields) session.line(line);
  if (!failure) return;
  session.line();
  session.line(session.paint("bold", "Last error"));
  const problem = { code: failure.code as FailureCode, place: "", message: failure.text };
  for (const line of problemLines([problem])) session.line(`  ${line}`);
}

function nextTry({ state, nextAt, waitsBehind }: DeliveryDetails, now: number): string | undefined {
  if (state !== "pending") return undefined;
  if (waitsBehind === undefined) return timeWithAge(nextAt, now);
  return `once ${waitsBehind}, which came before it, is delivered or given up`;
}
