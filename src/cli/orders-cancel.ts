import type { Command } from "commander";
import { Failure } from "../core/failures.ts";
import { SURFACES } from "../core/surface.ts";
import { type CancelResult, cancelOrder } from "../ledger/cancellations.ts";
import { formatId } from "../ledger/ids.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import { clean } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { chooseOrders, type Done, tellDone } from "./orders-change.ts";
import type { Session } from "./session.ts";
import { nameOf } from "./why-waiting.ts";

/** `orders cancel`: status 1 when one of the orders can't be cancelled. */
export async function cancelOrdersCommand(
  session: Session,
  command: Command,
): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { reason, yes } = command.opts<{ reason: string; yes?: boolean }>();
  if (reason.trim() === "") {
    throw new Failure("CLI_USAGE", "orders cancel: say why with --reason, it is kept with your name");
  }
  const config = readConfig(session);
  const offered = new Set(SURFACES.filter((surface) => config.service.cancel[surface] !== undefined));
  const done = await withLedger(session, config, async ({ pool }) => {
    const orders = await chooseOrders(pool, words, undefined);
    if (orders.length > 1) {
      const question = `Cancel ${orders.length} orders (${orders.slice(0, 5).map(nameOf).join(", ")}${orders.length > 5 ? ", …" : ""})?`;
      if (!(await confirm(session, clean(question), yes))) return undefined;
    }
    const results: Done[] = [];
    for (const order of orders) {
      const result = await cancelOrder(pool, order.id, { actor: session.actor, reason }, offered);
      results.push(tellCancel(order, result));
    }
    return results;
  });
  return done === undefined ? EXIT.failed : tellDone(session, done);
}

const WORDS = {
  cancelled: "is cancelled; the lab will be told",
  asked:
    "is at the storage service, which is asked to cancel it; what comes of that stands in cryobridge orders show",
  waits:
    "has a call under way or needs a person first; it is cancelled as soon as it is known what the service has of it",
} as const;

function tellCancel(order: LedgerOrder, result: CancelResult): Done {
  const words =
    result.kind === "unable"
      ? `can't be cancelled: ${result.refusal.text} (${result.refusal.code})`
      : WORDS[result.kind];
  return {
    id: formatId("o", order.id),
    isDone: result.kind !== "unable",
    text: `${nameOf(order)} ${words}`,
  };
}
