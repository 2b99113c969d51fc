import type pg from "pg";
import { type Config, isFolderConnector } from "../../config/config.ts";
import { directoriesOf } from "../../config/connector-schema.ts";
import { findLying } from "../../connectors/drop-folder/outbox.ts";
import { numberOfId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { type DeliveryView, findDelivery } from "../../ledger/operator/views.ts";
import { dropDelivery, retryDelivery } from "../../ledger/results/deliveries.ts";
import { findBytes, resendDelivery } from "../../ledger/results/resend.ts";
import type { Acted } from "../../operator/acts.ts";

interface ResultSite {
  readonly pool: pg.Pool;
  readonly config: Config;
}

/** Has a result tried now that the lab doesn't have. */
export async function retryResult({ pool }: ResultSite, result: DeliveryView, act: Act): Promise<Acted> {
  const id = numberOfId("d", result.deliveryId);
  if (!(await retryDelivery(pool, id, act)))
    return [false, `can't be delivered again: it is ${result.state}`];
  const before = await waitsBehind(pool, id);
  return [true, before === undefined ? "is due now" : `is due once ${before} is delivered or given up`];
}

/** Gives a result up that the lab doesn't have. */
export async function dropResult({ pool }: ResultSite, result: DeliveryView, act: Act): Promise<Acted> {
  const isDone = await dropDelivery(pool, numberOfId("d", result.deliveryId), act);
  return [isDone, isDone ? "is given up" : `can't be given up: it is ${result.state}`];
}

/** Sends a result again that the lab had: the same name and the same bytes. */
export async function resendResult(site: ResultSite, result: DeliveryView, act: Act): Promise<Acted> {
  const refusal = refuse(result, site.config);
  if (refusal !== undefined) return [false, refusal];
  const id = numberOfId("d", result.deliveryId);
  const bytes = await findBytes(site.pool, id);
  const folder = folderOf(result, site.config);
  const path = bytes && folder && (await findLying(folder, { fileName: result.fileName, bytes }));
  if (!(await resendDelivery(site.pool, id, act)))
    return [false, "can't be sent again: its bytes are not kept any more (retention.messages)"];
  // What is put there once more changes nothing but a marker that is missing.
  if (path)
    return [
      true,
      `is there already: ${path} is as it was sent, and stays so; to have it written anew, remove it there first`,
    ];
  const before = await waitsBehind(site.pool, id);
  const turn = before === undefined ? "" : `, once ${before} is delivered or given up`;
  return [true, `is sent again as ${result.fileName}${turn}`];
}

/** Why a result isn't sent again, with what to do instead. */
function refuse({ deliveryId, state, connector }: DeliveryView, config: Config): string | undefined {
  if (state === "pending") return `isn't sent yet; to try it now: \`cryobridge queue retry ${deliveryId}\``;
  if (state === "parked")
    return `isn't sent yet; once its cause is fixed: \`cryobridge queue retry ${deliveryId}\``;
  if (state === "dropped") return "can't be sent again: it was given up before the lab had it";
  if (config.connectors.some(({ name }) => name === connector)) return undefined;
  return `can't be sent again: the configuration has no connector ${connector} any more`;
}

/** Where its results appear as files; undefined where they are sent over a connection. */
function folderOf({ connector }: DeliveryView, { connectors }: Config): string | undefined {
  const settings = connectors.find(({ name }) => name === connector);
  if (settings === undefined) return undefined;
  if (isFolderConnector(settings)) return directoriesOf(settings).out;
  return "directory" in settings.results ? settings.results.directory : undefined;
}

async function waitsBehind(pool: pg.Pool, id: number): Promise<string | undefined> {
  return (await findDelivery(pool, id))?.waitsBehind;
}
