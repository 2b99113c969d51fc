import { type Command, Option } from "commander";
import { Failure } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { type DeliveryDetails, findDeliveriesByName } from "../../ledger/operator/views.ts";
import { RESULT_LIST } from "../../operator/lists/results.ts";
import { getOfOrder, notFound } from "../../operator/thing.ts";
import { RESULTS } from "../../operator/things/results.ts";
import { defineList } from "../list-command.ts";
import { getNamedOrder } from "../named-orders.ts";
import type { OpenSite } from "../open.ts";
import { defineAct, defineShow, getNamed } from "../record-commands.ts";
import type { Cli } from "../session.ts";

/** `cryobridge results …`. */
export function define(results: Command, cli: Cli): void {
  defineList(results, cli, RESULT_LIST, {
    examples: ["cryobridge results list --order LIMS-2024-0117"],
    check: async (_session, site, { order }) => {
      if (order !== undefined) await getNamedOrder(site, order);
    },
  });
  const named = { argument: "such as d4, or the name of its file", find: getResult };
  defineShow(results, cli, RESULTS, { ...named, examples: ["cryobridge results show d4 --show-phi"] });
  const { resend } = RESULTS.acts;
  const { ofOrder } = resend;
  defineAct(results, cli, RESULTS, resend, {
    ...named,
    choose: {
      option: new Option(ofOrder.option, ofOrder.help),
      what: "name results, or an order with --order",
      records: async (site, word: string) => getOfOrder(ofOrder, site.pool, await getNamedOrder(site, word)),
    },
  });
}

/** The result of an id, or of a file's name. @throws Failure CLI_NOT_FOUND, CLI_USAGE where connectors share the name */
async function getResult(site: OpenSite, word: string): Promise<DeliveryDetails> {
  if (parseId("d", word) !== undefined) return getNamed(RESULTS, site, word);
  const connectors = site.config.connectors.map(({ name }) => name);
  const [only, ...others] = await findDeliveriesByName(site.pool, connectors, word);
  if (only === undefined) throw notFound(RESULTS, word);
  if (others.length === 0) return only;
  const ids = [only, ...others].map(({ deliveryId, connector }) => `${deliveryId} of ${connector}`);
  throw new Failure("CLI_USAGE", `${word} names several results: ${ids.join(", ")}; name one by its id`);
}
