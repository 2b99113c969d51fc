import type { Config, ConnectorConfig } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import {
  findKinds,
  listOrphaned,
  type Move,
  moveResults,
  type Orphaned,
} from "../../ledger/results/orphaned.ts";
import { connectorNames, type Place } from "../place.ts";
import type { SiteAct } from "../site-act.ts";
import { counted } from "../text.ts";

/** What waits of connectors that the configuration doesn't name. */
export function readOrphaned({
  pool,
  config,
}: Pick<Place, "pool"> & { readonly config: Pick<Config, "connectors"> }): Promise<Orphaned[]> {
  return listOrphaned(pool, connectorNames(config));
}

/** Gives the orders and results of a connector that is no longer configured to another one of its type. */
export const MOVE = {
  ...{ command: "queue move", button: "Give it to another connector", reason: "optional" },
  path: "/queue/move",
  help: "Send the results of a connector that is no longer configured through another one of its type, and those of its orders later as well.",
  example: "cryobridge queue move --from lims --to lims-new",
  explains: "Its results, and those of its orders later, go out through the connector that you choose.",
  isAsked: true,
  many: async (place, { from, to }) => {
    const { type } = getTarget(place, { from, to });
    const left = await getOrphaned(place, from);
    await assertSameKind(place, from, { name: to, type });
    return {
      title: `Report ${countOrphaned({ ...left, messages: 0 })} of ${from} to the lab through ${to}`,
      explains: `What waits goes out through ${to}, and so does what the orders lead to later. ${from} should be gone for good.`,
      total: left.results + left.orders,
    };
  },
  act: async ({ pool }, by, { from, to }) => {
    const results = await moveResults(pool, { from, to }, by);
    if (results === undefined) {
      const why = `${to} has results with the same names as ${from}; nothing was moved`;
      throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
    }
    const words = `${counted(results, "result goes", "results go")} out through ${to} now`;
    return {
      isDone: true,
      lines: [["done", `${words}, and so do later ones of the orders of ${from}`]],
      json: { from, to, results },
    };
  },
} as const satisfies SiteAct<Move>;

/** @throws Failure CLI_USAGE for names that the configuration says something else of */
function getTarget({ config }: Pick<Place, "config">, { from, to }: Move): ConnectorConfig {
  const names = connectorNames(config);
  if (names.includes(from)) {
    const why = "this connector is configured, so its results go out by themselves";
    throw new Failure("CLI_USAGE", `--from ${from}: ${why}`);
  }
  const target = config.connectors.find(({ name }) => name === to);
  if (target) return target;
  throw new Failure("CLI_USAGE", `--to ${to}: the configuration has ${names.join(", ")}`);
}

/** @throws Failure CLI_NOT_FOUND when there is nothing to report */
async function getOrphaned(place: Place, from: string): Promise<Orphaned> {
  const all = await readOrphaned(place);
  const left = all.find(({ connector, results, orders }) => connector === from && results + orders > 0);
  if (left) return left;
  const message = `no results and no orders of a connector ${from} wait`;
  throw new Failure("CLI_NOT_FOUND", { message, hint: "`cryobridge queue list` shows what there is." });
}

/** The connectors to which what waits of one that is gone may be given. */
export async function listTargets(
  { pool, config }: Pick<Place, "pool"> & { readonly config: Pick<Config, "connectors"> },
  from: string,
): Promise<string[]> {
  const kinds = await findKinds(pool, from);
  return config.connectors.filter(({ type }) => isSameKind(kinds, type)).map(({ name }) => name);
}

function isSameKind(kinds: readonly string[], type: ConnectorConfig["type"]): boolean {
  return kinds.length === 1 && kinds[0] === type;
}

async function assertSameKind(
  { pool }: Place,
  from: string,
  { name, type }: Pick<ConnectorConfig, "name" | "type">,
): Promise<void> {
  const kinds = await findKinds(pool, from);
  if (isSameKind(kinds, type)) return;
  const was = kinds.length === 0 ? "nothing says of which type it was" : `it was of type ${kinds.join(", ")}`;
  const why = `${from} can't be moved to ${name}, which is of type ${type}: ${was}`;
  throw new Failure("CLI_MOVE_IMPOSSIBLE", why);
}

/** What waits of a connector, in words: `3 results and 1 order in work`. */
export function countOrphaned({ results, orders, messages }: Orphaned): string {
  const parts = [
    ...(results > 0 ? [counted(results, "result")] : []),
    ...(orders > 0 ? [`${counted(orders, "order")} in work`] : []),
    ...(messages > 0 ? [counted(messages, "message")] : []),
  ];
  const last = parts.pop() ?? "nothing";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** What is the matter: one sentence without its end. */
export function describeOrphaned(left: Orphaned): string {
  return `the configuration names no connector ${left.connector}, and there are ${countOrphaned(left)} of it, of which the lab is sent nothing`;
}

/** How to go on with it. */
export function hintForOrphaned({ connector, results, orders, messages }: Orphaned): string {
  const again = `Name ${connector} in the configuration again`;
  if (results + orders === 0) return `${again}.`;
  const rest = messages > 0 ? " Its messages need the connector itself." : "";
  return `${again}, or give its orders and results to another one: \`cryobridge queue move --from ${connector} --to NAME\`.${rest}`;
}
