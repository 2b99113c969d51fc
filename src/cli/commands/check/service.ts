import { serviceSettings } from "../../../app/service.ts";
import { type AuthConfig, type Config, wayOfFacility } from "../../../config/config.ts";
import { asFailure, Failure } from "../../../core/failures.ts";
import type { Surface } from "../../../core/surface.ts";
import type { ServiceClient } from "../../../service/client.ts";
import { NOBODY } from "../../../service/probe/known-lists.ts";
import type { ListFacts, UnknownId } from "../../../service/probe/probe.ts";
import { EXIT } from "../../exit-status.ts";
import { withService } from "../../open.ts";
import type { Session } from "../../session.ts";
import { clockFinding, listFindings, tokenLifeFinding, unknownIdFinding } from "./probe-words.ts";
import type { Report } from "./report.ts";

/** Longer than a healthy service takes for all of it, shorter than a person's patience. */
const SERVICE_WITHIN_MS = 90_000;

/** Gets a token, then finds out by reading alone what the specification leaves open. Nothing is changed there. */
export async function checkService(config: Config, session: Session, report: Report): Promise<void> {
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  await withService(session, config, async (service) => {
    if (await checkTokens(service, config, report, signal)) await probe(service, config, report, signal);
  });
}

/** Takes a token for each surface in use that has credentials of its own. */
async function checkTokens(
  service: ServiceClient,
  config: Config,
  report: Report,
  signal: AbortSignal,
): Promise<boolean> {
  const { auth, externalAuth } = config.service;
  const isRequestUsed = facilitiesOf(config).has("request") || areSubjectsUsed(config);
  const wanted: [subject: string, surface: Surface, auth: AuthConfig][] = [["token", "request", auth]];
  if (externalAuth) {
    if (!isRequestUsed) wanted.pop();
    wanted.push(["token, external surface", "external", externalAuth]);
  }
  for (const [subject, surface, of] of wanted) {
    try {
      await service.checkToken(signal, surface);
      report.ok(
        subject,
        of.kind === "oauth" ? `${of.tokenUrl} issues one` : "the configured API token is used",
      );
    } catch (error) {
      report.fail(subject, inTime(error, signal), EXIT.unreachable);
      return false;
    }
  }
  return true;
}

/** Lists without which orders can't be followed. */
const NEEDED = new Set(["requests", "procedures", "external procedures"]);

async function probe(
  service: ServiceClient,
  config: Config,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const facilityIdBySurface = facilitiesOf(config);
  const surfaces: ReadonlySet<Surface> = new Set(facilityIdBySurface.keys());
  const lists: ListFacts[] = [];
  try {
    const plan = { surfaces, facilityIdBySurface, areSubjectsUsed: areSubjectsUsed(config) };
    for await (const facts of service.probeLists(plan, signal)) {
      if (lists.length === 0) report.ok("service", `${config.service.baseUrl} answers`);
      lists.push(facts);
      await reportUnread(facts, service, config, report, signal);
    }
    await checkFacilities(service, config, report, signal);
    const [first = "request"] = surfaces;
    const unknownId = await probeUnknownId(service, first, report, signal);
    const { perPage, listEnvelope, listEnvelopes = {}, filters = "auto" } = serviceSettings(config);
    const settings = {
      perPage: perPage ?? 100,
      listEnvelope: listEnvelope ?? "auto",
      listEnvelopes,
      filters,
    };
    for (const finding of listFindings(lists, settings)) report.add(finding);
    if (unknownId !== "unclear") report.add(unknownIdFinding(unknownId));
    report.add(tokenLifeFinding(service.tokenLife));
    report.add(clockFinding(service.clockSkewMs));
  } catch (error) {
    const isForSubjectsAlone = lists.length === 0 && !surfaces.has("request") && areSubjectsUsed(config);
    if (isForSubjectsAlone && asFailure(error).code === "SERVICE_CREDENTIALS_REFUSED")
      reportSubjectsOutOfReach(error, report);
    else
      report.fail(lists.length === 0 ? "service" : "service, lists", inTime(error, signal), EXIT.unreachable);
    return;
  }
  await checkOtherSurface(service, config, facilityIdBySurface, report, signal);
}

/** A credential of the external surface alone, and orders whose subjects would be looked up with it. */
function reportSubjectsOutOfReach(error: unknown, report: Report): void {
  const { message, code } = asFailure(error);
  report.add({
    subject: "service, subjects",
    result: "failed",
    detail: `can't be looked up under /api/subjects: ${message} (${code})`,
    hint: "Where the credentials under service.auth reach /api/v1/external alone, move them to service.externalAuth and put those for /api under service.auth; or set service.subjects: none.",
    status: EXIT.unreachable,
  });
}

/**
 * How the service says that it has no such record. One that says it like a gateway in trouble, with a page of HTML, is
 * well all the same, since it has just answered everything else.
 */
async function probeUnknownId(
  service: ServiceClient,
  surface: Surface,
  report: Report,
  signal: AbortSignal,
): Promise<UnknownId | undefined | "unclear"> {
  try {
    return await service.probeUnknownId(surface, signal);
  } catch (error) {
    const { code, message } = asFailure(error);
    if (signal.aborted || code !== "SERVICE_UNAVAILABLE") throw error;
    report.add({
      subject: "service, error shape",
      result: "warning",
      detail: `an unknown id is answered as in an outage: ${message}`,
      hint: "If that is how this service says that a record is missing, tell so in service.errors, such as { status: 404, body: html, means: notFound }.",
    });
    return "unclear";
  }
}

/** A facility of each surface in use, for the lists that are asked for one. */
function facilitiesOf(config: Config): ReadonlyMap<Surface, number> {
  // Later ones are overwritten by earlier ones: the first facility of the file stands for its surface.
  return new Map(
    [...config.facilityIdByCode.values()]
      .reverse()
      .map((facilityId) => [wayOfFacility(config, facilityId).surface, facilityId]),
  );
}

async function reportUnread(
  { title, failure }: ListFacts,
  service: ServiceClient,
  config: Config,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  if (!failure) return;
  const subject = `service, ${title}`;
  const isNeeded =
    NEEDED.has(title) ||
    (title === "subjects" &&
      areSubjectsUsed(config) &&
      !(await areSubjectsListedByCode(service, config, signal)));
  report.add({
    subject,
    result: isNeeded ? "failed" : "warning",
    detail: `can't be read: ${failure.message} (${failure.code})`,
    // There is no id that could be wrong.
    hint: failure.code === "SERVICE_NOT_FOUND" ? NO_SUCH_LIST : failure.hint,
    status: EXIT.unreachable,
  });
}

const NO_SUCH_LIST =
  "Check service.baseUrl, which is the service's address without /api, and that the credentials may read this list.";

/** Whether the surface that no orders go by answers too; whatever it does is right. */
async function checkOtherSurface(
  service: ServiceClient,
  config: Config,
  facilities: ReadonlyMap<Surface, number>,
  report: Report,
  signal: AbortSignal,
): Promise<void> {
  const other: Surface = facilities.has("external") ? "request" : "external";
  if (facilities.has(other)) return;
  const [facilityId] = facilities.values();
  const filters = {
    ...(facilityId === undefined ? {} : { facilityId }),
    ...(other === "external" ? { type: "STORE" } : {}),
  };
  const subject = `service, ${other} surface`;
  const use =
    other === "request" && areSubjectsUsed(config)
      ? "subjects are looked up there, but no facility's orders go by it"
      : "no facility's orders go by it";
  try {
    await service.readPage({ list: "procedures", surface: other, filters, perPage: 1 }, 1, signal);
    report.ok(subject, `lists procedures too; ${use}`);
  } catch (error) {
    report.ok(subject, `lists no procedures (${asFailure(error).code}); ${use}`);
  }
}

/** The abort of our own deadline, told as what it means. */
function inTime(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return error;
  return new Failure("SERVICE_UNREACHABLE", {
    message: `no answer within ${SERVICE_WITHIN_MS / 1_000} s`,
    cause: error,
  });
}

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
