import { type Config, wayOfFacility } from "../../../config/config.ts";
import { asFailure, type Failure } from "../../../core/failures.ts";
import type { ServiceClient } from "../../../service/client.ts";
import { NOBODY } from "../../../service/probe/known-lists.ts";
import type { Report } from "./report.ts";

/** Whether subjects are looked up for the orders of any facility, on whichever surface the orders go. */
export function areSubjectsUsed(config: Config): boolean {
  return [...config.facilityIdByCode.values()].some((id) => wayOfFacility(config, id).subjects !== "none");
}

/** Whether subjects can be asked for as orders do it, by code and facility: a service may refuse the whole list. */
export async function areSubjectsListedByCode(
  service: ServiceClient,
  config: Config,
  signal: AbortSignal,
): Promise<boolean> {
  const facilityId = [...config.facilityIdByCode.values()].find(
    (id) => wayOfFacility(config, id).subjects !== "none",
  );
  const filters = { code: NOBODY, ...(facilityId === undefined ? {} : { facilityId }) };
  try {
    await service.readPage({ list: "subjects", surface: "request", filters }, 1, signal);
    return true;
  } catch (error) {
    if (IS_NO.has(asFailure(error).code)) return false;
    throw error;
  }
}

/**
 * Warns of facilities of which the service shows nothing, as it does with a mistyped id or another organization's
 * facility. Where a credential reaches the external surface alone, nothing can be told, since a facility without
 * procedures is all right.
 */
export async function checkFacilities(
  service: ServiceClient,
  config: Config,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const namesById = Map.groupBy(config.facilityIdByCode, ([, facilityId]) => facilityId);
  const shown = new Map<number, boolean | Failure>();
  for (const facilityId of namesById.keys()) {
    const { surface, subjects } = wayOfFacility(config, facilityId);
    if (surface === "external" && subjects === "none") continue;
    const storage = await isShown(service, "storage", facilityId, signal);
    shown.set(facilityId, storage === true || (await isShown(service, "procedures", facilityId, signal)));
  }
  // A service that refuses for every facility doesn't let itself be asked so, which the lists have told already.
  const isOneReadable = [...shown.values()].some((each) => typeof each === "boolean");
  for (const [facilityId, found] of shown) {
    if (found === true || !isOneReadable) continue;
    const names = namesById.get(facilityId) ?? [];
    report.add({
      subject: `facility ${names.map(([name]) => name).join(", ")}`,
      result: "warning",
      detail:
        found === false
          ? `the service shows neither storage solutions nor procedures of facility ${facilityId}`
          : `the service shows nothing of facility ${facilityId}: ${found.message}`,
      hint: "Check the id under facilities, and that the credentials belong to the facility's organization. A new facility without tanks looks the same.",
    });
  }
}

/** Whether a list has something of a facility; the refusal where the service says no. */
async function isShown(
  service: ServiceClient,
  list: "storage" | "procedures",
  facilityId: number,
  signal: AbortSignal,
): Promise<boolean | Failure> {
  const question = { list, surface: "request", filters: { facilityId } } as const;
  try {
    return (await service.readPage(question, 1, signal)).entries.length > 0;
  } catch (error) {
    const failure = asFailure(error);
    if (IS_NO.has(failure.code)) return failure;
    throw error;
  }
}

/** The service answers, and says no, or what the settings can't read, which the lists have told. */
const IS_NO: ReadonlySet<string> = new Set(["SERVICE_REFUSED", "SERVICE_NOT_FOUND", "SERVICE_SHAPE_UNKNOWN"]);
