import type pg from "pg";
import { type Config, wayOfFacility } from "../../../config/config.ts";
import type { Clock } from "../../../core/clock.ts";
import { Failure } from "../../../core/failures.ts";
import type { ContainerLocation } from "../../../core/outcome.ts";
import type { Surface } from "../../../core/surface.ts";
import { asCaller, readServiceNews } from "../../../ledger/workers/roster.ts";
import type { ContainerPlace, Inventory, ListedContainer } from "../../../operator/inventory.ts";
import type { ServiceClient } from "../../../service/client.ts";
import { parseContainer, parseSubject } from "../../../service/shapes.ts";
import type { Report } from "../../output/progress.ts";

/** How often the command reads how many workers share the limits with it, and whether the service may be called. */
const NEWS_EVERY_MS = 2_000;

/**
 * Keeps a command that calls the service a lot within the limits beside the daemons, as one worker more, for the time of the work,
 * and still while they are.
 */
export async function beside<T>(
  given: { readonly service: ServiceClient; readonly pool: pg.Pool; readonly clock: Clock },
  work: () => Promise<T>,
): Promise<T> {
  const { service, pool, clock } = given;
  const over = new AbortController();
  const followNews = async () => service.follow(await readServiceNews(pool));
  return asCaller(pool, async () => {
    await followNews();
    const following = (async () => {
      while (!over.signal.aborted) {
        await clock.sleep(NEWS_EVERY_MS, over.signal).catch(() => undefined);
        // The work's own statements say that the ledger is out of reach.
        if (!over.signal.aborted) await followNews().catch(() => undefined);
      }
    })();
    try {
      return await work();
    } finally {
      over.abort();
      await following;
    }
  });
}

interface Reading {
  readonly service: ServiceClient;
  readonly inventory: Inventory;
  readonly config: Config;
  readonly facilityId: number;
  readonly surface: Surface;
  readonly report: Report;
}

/**
 * Reads the facility's subjects, since containers name no facility, only their subject.
 * @returns false where the credential reaches no subjects (`subjects: none`): then all containers count as the facility's
 */
export async function readSubjects({
  service,
  inventory,
  config,
  facilityId,
  report,
}: Reading): Promise<boolean> {
  if (wayOfFacility(config, facilityId).subjects === "none") return false;
  const question = { list: "subjects", surface: "request", filters: { facilityId }, isWhole: true } as const;
  let count = 0;
  inventory.addSubjects([]);
  for await (const { entries } of service.readList(question, new AbortController().signal)) {
    const subjects = entries.flatMap((raw) => parseSubject(raw) ?? []);
    inventory.addSubjects(subjects.map(({ id, code }) => ({ id, code: code?.reveal() })));
    count += subjects.length;
    report(count, undefined, "subjects read");
  }
  return true;
}

/** Reads all containers that the service lists. @throws Failure those of a list walk */
export async function readContainers({
  service,
  inventory,
  config,
  surface,
  report,
}: Reading): Promise<void> {
  const { containerLabelFields } = config.service;
  const question = { list: "containers", surface, filters: {}, isWhole: true } as const;
  let count = 0;
  for await (const { entries } of service.readList(question, new AbortController().signal)) {
    const containers = entries.flatMap((raw): ListedContainer[] => {
      const found = parseContainer(raw, containerLabelFields);
      if (found === undefined) return [];
      const { id, labels, subjectId, subjectCode, storedAt } = found;
      const isStored = storedAt === undefined ? undefined : typeof storedAt === "string";
      return [{ id, labels, subjectId, subjectCode: subjectCode?.reveal(), isStored }];
    });
    inventory.addContainers(containers);
    count += containers.length;
    report(count, undefined, "containers read");
  }
}

/** Reads where each container stands whose place the lab names: a call for each. No call is under way when it has ended. */
export async function readPlaces({ service, inventory, report }: Reading): Promise<void> {
  let count = 0;
  const over = new AbortController();
  const ids = inventory.placesToRead();
  const left = ids.values();
  const readNext = async () => {
    for (const id of left) {
      inventory.addPlaces([toPlace(id, await locationOf(service, id, over.signal))]);
      count += 1;
      report(count, ids.length, "places read");
    }
  };
  const reading = Array.from({ length: service.callsAtOnce }, readNext);
  try {
    await Promise.all(reading);
  } finally {
    over.abort();
    await Promise.allSettled(reading);
  }
}

/** Undefined where the service knows no place. */
async function locationOf(service: ServiceClient, id: number, signal: AbortSignal) {
  try {
    return await service.getLocation(id, signal);
  } catch (error) {
    if (error instanceof Failure && error.code === "SERVICE_NOT_FOUND") return undefined;
    throw error;
  }
}

function toPlace(id: number, location: ContainerLocation | undefined): ContainerPlace {
  const { storageId, storageName: storage, position, canister, cane } = location ?? {};
  const parts = [canister && `Canister ${canister}`, cane && `Cane ${cane}`].filter(Boolean).join(", ");
  return { id, storageId, storage, position: position ?? (parts || undefined) };
}
