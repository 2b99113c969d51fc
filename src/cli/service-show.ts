import type { Command } from "commander";
import { openService } from "../app/service.ts";
import type { Config } from "../config/config.ts";
import type { Surface } from "../core/surface.ts";
import type { ServiceClient } from "../service/client.ts";
import type { ReadableRecord } from "../service/reads.ts";
import type { RawObject } from "../service/values.ts";
import { clean } from "./clean.ts";
import { readConfig } from "./configuration.ts";
import { recordShown } from "./service-audit.ts";
import { columnsOf, otherFields, type Shown } from "./service-columns.ts";
import { hideRecord, OWNERS } from "./service-hidden.ts";
import type { Session } from "./session.ts";
import { renderFields } from "./table.ts";

const SHOWN_AS = {
  subject: "subjects",
  request: "requests",
  procedure: "procedures",
  location: "location",
} as const satisfies Record<ReadableRecord, Shown>;

/** `service subject`, `request`, `procedure` and `location`. */
export function showRecordCommand(record: ReadableRecord) {
  return async (session: Session, command: Command): Promise<undefined> => {
    const [id] = command.processedArgs as [number];
    const config = readConfig(session);
    const surface = surfaceOf(record, command.opts<{ surface?: Surface }>().surface, config);
    await recordShown(session, config, `service ${record} ${id}`);
    const raw = await withService(session, config, (service) =>
      service.readRecord(record, surface, id, new AbortController().signal),
    );
    const shown = hideRecord(raw, OWNERS[record], session.mayShowPhi) as RawObject;
    if (session.isJson) {
      session.json({ [record]: shown, surface });
      return undefined;
    }
    const columns = columnsOf(SHOWN_AS[record], surface, config);
    const told = columns.map(({ title, cell }): [string, string | undefined] => [
      title,
      cell(shown) || undefined,
    ]);
    for (const line of renderFields([...told, ...otherFields(shown, columns)])) session.line(line);
    return undefined;
  };
}

/** `service inventory`: in the shape in which the service tells it, since no shape is specified. */
export async function showInventoryCommand(session: Session, command: Command): Promise<undefined> {
  const [id] = command.processedArgs as [number];
  const config = readConfig(session);
  await recordShown(session, config, `service inventory ${id}`);
  const raw = await withService(session, config, (service) =>
    service.getInventory(id, new AbortController().signal),
  );
  const inventory = hideRecord(raw, OWNERS.inventory, session.mayShowPhi);
  if (session.isJson) session.json({ inventory });
  else for (const line of JSON.stringify(inventory, null, 2).split("\n")) session.line(clean(line));
  return undefined;
}

function surfaceOf(record: ReadableRecord, asked: Surface | undefined, config: Config): Surface {
  return record === "procedure" ? (asked ?? config.service.surface) : "request";
}

async function withService<T>(
  session: Session,
  config: Config,
  work: (service: ServiceClient) => Promise<T>,
): Promise<T> {
  const service = openService(config, { clock: session.clock, logger: session.logger });
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}
