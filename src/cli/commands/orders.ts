import type { Command } from "commander";
import { formatId } from "../../ledger/ids.ts";
import { isNarrowedBy } from "../../operator/listing.ts";
import { ORDER_LIST } from "../../operator/lists/orders.ts";
import { clean } from "../../operator/text.ts";
import { orderStates, wholeNumber } from "../arguments.ts";
import { inMessage } from "../named-orders.ts";
import { recordShown } from "../open.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, toAction } from "../session.ts";
import { cancelOrders, changeOrders, releaseAfterRestore, resolveOrders } from "./orders-change.ts";
import { showOrder } from "./orders-show.ts";

/** `cryobridge orders …`. */
export function define(orders: Command, cli: Cli): void {
  defineList(orders, cli, ORDER_LIST, {
    examples: [
      "cryobridge orders list --state parked,failed --since 1d",
      "cryobridge orders list --find V-1001",
    ],
    beforeShown: (session, { pool }, shown) =>
      recordShown(
        session,
        pool,
        shown.map(({ id }) => formatId("o", id)),
      ),
    whenEmpty: async (session, { pool }, values) => {
      const { find } = values;
      const words =
        find !== undefined && isNarrowedBy(values, "find") ? await inMessage(pool, find) : undefined;
      if (words) session.note(clean(`${find}: ${words.message}. ${words.hint}`));
    },
  });
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
