import type { Command } from "commander";
import type { OrderState } from "../../core/order-state.ts";
import { formatId } from "../../ledger/ids.ts";
import { listOrders, searchOrders } from "../../ledger/operator/views.ts";
import { type ListedOrder, ORDER_COLUMNS } from "../../operator/order-columns.ts";
import { withStanding } from "../../operator/order-details.ts";
import { clean } from "../../operator/text.ts";
import { parseSince } from "../../operator/times.ts";
import { orderStates, pageOption, wholeNumber } from "../arguments.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { inMessage } from "../named-orders.ts";
import { recordShown } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { cancelOrders, changeOrders, releaseAfterRestore, resolveOrders } from "./orders-change.ts";
import { showOrder } from "./orders-show.ts";

/** `cryobridge orders …`. */
export function define(orders: Command, cli: Cli): void {
  orders
    .command("list")
    .description("List orders, newest first.")
    .option("--state <states>", "only these states, such as parked,failed", orderStates)
    .option("--connector <name>", "only orders that came through this connector")
    .option("--failure <code>", "only orders with this failure, such as SUBJECT_UNKNOWN")
    .option("--subject <code>", "only orders of this subject code")
    .option(
      "--find <text>",
      "only orders with this id, order number, container label, control id or number of the service (also R1002, P2002), or of files whose names begin like this",
    )
    .option("--since <time>", "only orders that came in since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most this many", wholeNumber(1, MOST_LISTED), 50)
    .addOption(pageOption("o"))
    .addOption(watchOption())
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge orders list --state parked,failed --since 1d\n  cryobridge orders list --find V-1001",
    )
    .action(toAction(cli, watched(list)));
  orders
    .command("show")
    .description(
      "Show all that is known of an order: by its id, such as o17, or its placer order number; else by the label of a container, a control id or the beginning of a file's name.",
    )
    .argument("<id>", "id, placer order number, container label, control id or file name")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge orders show o17\n  cryobridge orders show P-1001 --show-phi",
    )
    .action(toAction(cli, showOrder));
  for (const { name, description, example } of ACTS) {
    const command = orders
      .command(name)
      .description(description)
      .argument("[id...]", "ids, order numbers, or labels that only one order has")
      .option("--state <states>", "all orders in these states instead of naming them", orderStates)
      .option("--reason <text>", REASON[name])
      .option("-y, --yes", "don't ask before acting on more than one")
      .addHelpText("after", `\nExample:\n  ${example}`)
      .action(toAction(cli, changeOrders(name)));
    if (name === "retry") {
      command.option(
        "--override",
        "have it done although another order asks for the same container or has its number; with --reason",
      );
      command.option(
        "--not-at-service",
        "you have looked and the service has nothing of it: end the search for its lost call and send it again; with --reason",
      );
    }
  }
  orders
    .command("resolve")
    .description(
      "Link a parked order to the procedure request that you found at the service, or on the external surface to the procedure.",
    )
    .argument("<id>", "id, order number, or a label that only one order has")
    .option("--request-id <n>", "the procedure request that was found at the service", wholeNumber(1))
    .option("--procedure-id <n>", "the procedure, for a facility of the external surface", wholeNumber(1))
    .option("--unchecked", "don't ask the service whether it is this subject's")
    .option("--reason <text>", WHY)
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge orders resolve o17 --request-id 1001\n  cryobridge orders resolve o18 --procedure-id 2002",
    )
    .action(toAction(cli, resolveOrders));
  orders
    .command("cancel")
    .description(
      "Cancel orders: at once what nothing has left of, at the service where its cancel call is configured.",
    )
    .argument("<id...>", "ids, order numbers, or labels that only one order has")
    .requiredOption("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before acting on more than one")
    .addHelpText("after", '\nExample:\n  cryobridge orders cancel o17 --reason "the patient withdrew"')
    .action(toAction(cli, cancelOrders));
  orders
    .command("release-after-restore")
    .description(
      "Stop comparing orders with the service after the ledger was restored from an older copy: what waits for that is submitted.",
    )
    .requiredOption("--reason <text>", WHY)
    .option("-y, --yes", "don't ask while orders are not compared yet")
    .addHelpText(
      "after",
      '\nExample:\n  cryobridge orders release-after-restore --reason "the lab has sent everything again"',
    )
    .action(toAction(cli, releaseAfterRestore));
}

const WHY = "why, for the audit";
const REASON = {
  retry: `${WHY} (required with --override and --not-at-service)`,
  discard: `${WHY} (required for an order that the service may have)`,
  release: WHY,
} as const;

const ACTS = [
  {
    name: "retry",
    description:
      "Have orders tried now: parked and failed ones from where they stood (a failed one becomes a new request), others before their next planned time.",
    example: "cryobridge orders retry o17 o18\n  cryobridge orders retry --state parked --yes",
  },
  {
    name: "discard",
    description: "Decide that orders will not be done; it is reported to the lab.",
    example: 'cryobridge orders discard o17 --reason "sent twice by the lab"',
  },
  {
    name: "release",
    description: "Have orders go on that the lab put on hold, as the lab itself can with ORC-1 RL.",
    example: 'cryobridge orders release o17 --reason "the ward rang"',
  },
] as const;

interface ListOptions extends Watching {
  readonly state?: readonly OrderState[];
  readonly connector?: string;
  readonly failure?: string;
  readonly subject?: string;
  readonly find?: string;
  readonly since?: string;
  readonly limit: number;
  readonly before?: number;
}

const MOST_LISTED = 10_000;

const ORDERS = {
  key: "orders",
  columns: ORDER_COLUMNS,
  nothing: "No orders.",
  nextPage: ({ id }: ListedOrder) => `--before ${formatId("o", id)}`,
};

async function list(
  session: Session,
  site: KeptSite,
  { state: states, connector, failure, subject, find, since, limit, before }: ListOptions,
): Promise<undefined> {
  const filter = {
    states,
    connector,
    failureCode: failure,
    subjectCode: subject,
    since: parseSince(since, session),
    beforeId: before,
    limit: limit + 1,
  };
  const { pool, config } = await site.open();
  const connectors = config.connectors.map(({ name }) => name);
  const ids =
    find === undefined ? undefined : await searchOrders(pool, find, { connectors, limit: MOST_LISTED + 1 });
  const found = await listOrders(pool, { ...filter, ids });
  const shown = found.slice(0, limit).map(({ id }) => formatId("o", id));
  await recordShown(session, pool, shown);
  printList(session, ORDERS, await withStanding(pool, found, session.clock.now()), limit);
  const words = find === undefined || ids?.length !== 0 ? undefined : await inMessage(pool, find);
  if (words) session.note(clean(`${find}: ${words.message}. ${words.hint}`));
}
