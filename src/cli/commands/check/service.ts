import { serviceSettings } from "../../../app/service.ts";
import { type Config, wayOfFacility } from "../../../config/config.ts";
import { asFailure, Failure, LASTING } from "../../../core/failures.ts";
import { hasPath, LISTS, surfaceAt } from "../../../core/service-catalogue.ts";
import type { Surface } from "../../../core/surface.ts";
import { createServiceClient, type ServiceClient } from "../../../service/client.ts";
import type { ObservedCall } from "../../../service/http/transport.ts";
import type { ListQuestion } from "../../../service/lists/reads.ts";
import type { ListFacts } from "../../../service/probe/probe.ts";
import { NOBODY } from "../../../service/request-surface/containers.ts";
import { EXIT } from "../../exit-status.ts";
import type { Session } from "../../session.ts";
import {
  clockFinding,
  inventoryFinding,
  listFindings,
  tokenLifeFinding,
  unknownIdFinding,
} from "./probe-words.ts";
import { type Finding, type Findings, failed, failedBy, ok, warning } from "./report.ts";

/** Longer than a healthy service takes for all of it with a pause or two, shorter than a person's patience. */
const SERVICE_WITHIN_MS = 180_000;
/** The longest pause that a service may ask for (`Retry-After`): the usual window of a limit is a minute. */
const LONGEST_PAUSE_MS = 60_000;

/** What is asked, by which configuration, and for how long. */
interface Asked {
  readonly service: ServiceClient;
  readonly config: Config;
  readonly signal: AbortSignal;
  readonly session: Session;
}

/** Gets a token, then finds out by reading alone what the specification leaves open. Nothing is changed there. */
export async function* checkService(config: Config, session: Session): Findings {
  const { clock, logger } = session;
  let isBusy = false;
  const onCall = ({ outcome }: ObservedCall) => {
    if (outcome === "429" && !isBusy) session.note(WAITING);
    isBusy ||= outcome === "429";
  };
  const settings = { ...serviceSettings(config), longestPauseMs: LONGEST_PAUSE_MS };
  const service = createServiceClient(settings, { clock, logger, onCall });
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  const asked = { service, config, session, signal };
  try {
    if (yield* checkTokens(asked)) yield* probe(asked);
  } finally {
    await service.close();
  }
}

/** Takes a token for each surface in use that has credentials of its own. */
async function* checkTokens(asked: Asked): Findings<boolean> {
  const { config, signal } = asked;
  const { auth, externalAuth } = config.service;
  const isRequestUsed =
    facilitiesOf(config).has("request") || (areSubjectsUsed(config) && !areSubjectsElsewhere(config));
  const wanted: [subject: string, surface: Surface, auth: typeof auth][] = [["token", "request", auth]];
  if (externalAuth) {
    if (!isRequestUsed) wanted.pop();
    wanted.push(["token, external surface", "external", externalAuth]);
  }
  for (const [subject, surface, of] of wanted) {
    try {
      await takeToken(asked, surface);
      yield ok(subject, "tokenUrl" in of ? `${of.tokenUrl} issues one` : "the configured API token is used");
    } catch (error) {
      yield failedBy(subject, inTime(error, signal), EXIT.unreachable);
      return false;
    }
  }
  return true;
}

const WAITING = "the service is asked too often (status 429): waiting for as long as it asks";

/** Takes a token, once more after each pause that the endpoint asks for. */
async function takeToken(
  { service, signal, session: { clock, note } }: Asked,
  surface: Surface,
): Promise<void> {
  const endsAt = clock.monotonic() + LONGEST_PAUSE_MS;
  for (;;) {
    try {
      return await service.checkToken(signal, surface);
    } catch (error) {
      const { code, retryAfterMs } = asFailure(error);
      const isPassing = code === "SERVICE_TOKEN_UNAVAILABLE" && retryAfterMs !== undefined;
      if (!isPassing || clock.monotonic() + retryAfterMs > endsAt) throw error;
      note("the token endpoint asks for a pause: waiting");
      await clock.sleep(retryAfterMs, signal);
    }
  }
}

async function* probe(asked: Asked): Findings {
  const { service, config, signal } = asked;
  const facilityIdBySurface = facilitiesOf(config);
  const surfaces: ReadonlySet<Surface> = new Set(facilityIdBySurface.keys());
  const lists: ListFacts[] = [];
  try {
    const plan = { surfaces, facilityIdBySurface, areSubjectsUsed: areSubjectsUsed(config) };
    for await (const facts of service.probeLists(plan, signal)) {
      if (lists.length === 0) yield ok("service", `${config.service.baseUrl} answers`);
      lists.push(facts);
      if (facts.failure) yield await judgeUnread(facts.title, facts.failure, asked);
    }
    yield* checkFacilities(asked, new Set(lists.map(({ title }) => title)));
    const [first = "request"] = surfaces;
    const unknownId = await probeUnknownId(first, asked);
    yield* listFindings(lists, config.service);
    yield* checkInventory(facilityIdBySurface.get("request"), asked);
    yield unknownId;
    yield tokenLifeFinding(service.tokenLife);
    yield clockFinding(service.clockSkewMs);
  } catch (error) {
    const isForSubjectsAlone = lists.length === 0 && !surfaces.has("request") && areSubjectsUsed(config);
    const { message, code } = asFailure(error);
    if (isForSubjectsAlone && code === "SERVICE_CREDENTIALS_REFUSED") {
      const detail = `can't be looked up: ${message} (${code})`;
      yield failed("service, subjects", detail, NO_SUBJECTS, EXIT.unreachable);
    } else {
      const subject = lists.length === 0 ? "service" : "service, lists";
      const failure = asFailure(inTime(error, signal));
      const said = `${failure.message} (${failure.code})`;
      // A page of HTML may say that nothing lies there.
      const more = failure.code === "SERVICE_UNAVAILABLE" ? ` ${PUBLIC_EDITION}` : "";
      yield failed(subject, said, `${failure.hint}${more}`, EXIT.unreachable, { code: failure.code });
    }
  }
}

/** For a credential of the external surface alone, and orders whose subjects would be looked up with it. */
const NO_SUBJECTS =
  "Where the credentials under service.auth reach /api/v1/external alone, move them to service.externalAuth and put those for /api under service.auth; or set service.subjects: none.";

/** Whether places come from inventories, for orders of the request surface: on the other one procedures show them. */
async function* checkInventory(facilityId: number | undefined, { service, config, signal }: Asked): Findings {
  const { inventory, paths } = config.service;
  if (facilityId === undefined || inventory.use === "none") return;
  if (!hasPath(paths, "inventory") || !hasPath(paths, "storage")) return;
  yield inventoryFinding(await service.probeInventory(facilityId, signal), inventory.use);
}

const LIKE_AN_OUTAGE =
  "If that is how this service says that a record is missing, write it down in service.errors, such as { status: 404, body: html, means: notFound }.";

/**
 * How the service says that it has no such record. One that says it like a gateway in trouble, with a page of HTML, is
 * well, since it has just answered everything else.
 */
async function probeUnknownId(surface: Surface, { service, signal }: Asked): Promise<Finding> {
  try {
    return unknownIdFinding(await service.probeUnknownId(surface, signal));
  } catch (error) {
    const { code, message } = asFailure(error);
    if (signal.aborted || code !== "SERVICE_UNAVAILABLE") throw error;
    const detail = `an unknown id is answered as in an outage: ${message}`;
    return warning("service, error shape", detail, LIKE_AN_OUTAGE);
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

/** Lists without which orders can't be followed. */
const NEEDED: ReadonlySet<string> = new Set(
  [LISTS.requests, LISTS.procedures, LISTS.externalProcedures].map(({ title }) => title),
);

const PUBLIC_EDITION =
  "Where the service has everything below /api/v1/external, as the public edition does, set service.surface and service.paths as config/labs/public-edition has them.";
const NO_SUCH_LIST = `Check service.baseUrl, which is the service's address without /api, and that the credentials may read this list. ${PUBLIC_EDITION}`;

async function judgeUnread(title: string, { code, message, hint }: Failure, asked: Asked): Promise<Finding> {
  const isNeeded =
    NEEDED.has(title) ||
    (title === LISTS.subjects.title &&
      areSubjectsUsed(asked.config) &&
      !(await areSubjectsListedByCode(asked)));
  const detail = `can't be read: ${message} (${code})`;
  // There is no id that could be wrong.
  const ownHint = code === "SERVICE_NOT_FOUND" ? NO_SUCH_LIST : hint;
  const subject = `service, ${title}`;
  return isNeeded
    ? failed(subject, detail, ownHint, EXIT.unreachable, { code })
    : warning(subject, detail, ownHint);
}

/** The abort of our own deadline as what it means. */
function inTime(error: unknown, signal: AbortSignal): unknown {
  if (!signal.aborted) return error;
  const message = `no answer within ${SERVICE_WITHIN_MS / 1_000} s`;
  return new Failure("SERVICE_UNREACHABLE", { message, cause: error });
}

/** Whether subjects are looked up for the orders of any facility, on whichever surface the orders go. */
const areSubjectsUsed = (config: Config) => facilityWithSubjects(config) !== undefined;

/** Whether subjects lie below the base of the external surface. */
const areSubjectsElsewhere = ({ service: { paths } }: Config) =>
  surfaceAt(paths, LISTS.subjects.path) === "external";

function facilityWithSubjects(config: Config): number | undefined {
  return [...config.facilityIdByCode.values()].find((id) => wayOfFacility(config, id).subjects !== "none");
}

/** Whether subjects can be asked for as orders do it, by code and facility: a service may refuse the whole list. */
async function areSubjectsListedByCode({ service, config, signal }: Asked): Promise<boolean> {
  const facilityId = facilityWithSubjects(config);
  const filters = { code: NOBODY, ...(facilityId === undefined ? {} : { facilityId }) };
  try {
    await service.readPage({ list: "subjects", surface: "request", filters }, 1, signal);
    return true;
  } catch (error) {
    if (IS_NO.has(asFailure(error).code)) return false;
    throw error;
  }
}

const NOT_SHOWN =
  "Check the id under facilities, and that the credentials belong to the facility's organization. A new facility without tanks looks the same.";

/**
 * Warns of facilities of which the service shows nothing, as it does with a mistyped id or another organization's
 * facility. Where a credential reaches the external surface alone, this can't be found out, since a facility without
 * procedures is all right.
 *
 * @param read the lists that were looked at before, by their titles
 */
async function* checkFacilities(asked: Asked, read: ReadonlySet<string>): Findings {
  const { config } = asked;
  const hasStorage = hasPath(config.service.paths, "storage");
  const hasProcedures = hasPath(config.service.paths, "procedures");
  const namesById = Map.groupBy(config.facilityIdByCode, ([, facilityId]) => facilityId);
  const shown = new Map<number, boolean | Failure>();
  let noStorage: Failure | undefined;
  for (const facilityId of namesById.keys()) {
    const { surface, subjects } = wayOfFacility(config, facilityId);
    if (surface === "external" && subjects === "none") continue;
    const procedures = { list: "procedures", surface: hasProcedures ? "request" : surface } as const;
    const isInStorage = hasStorage && (await isShown(STORAGE, facilityId, asked));
    if (isInStorage instanceof Failure && isInStorage.code === "SERVICE_NOT_FOUND") noStorage ??= isInStorage;
    shown.set(facilityId, isInStorage === true || (await isShown(procedures, facilityId, asked)));
  }
  if (noStorage && !read.has(LISTS.storage.title))
    yield await judgeUnread(LISTS.storage.title, noStorage, asked);
  // A service that refuses for every facility doesn't let itself be asked so, as the lists have shown already.
  const isOneReadable = [...shown.values()].some((each) => typeof each === "boolean");
  for (const [facilityId, found] of shown) {
    if (found === true || !isOneReadable) continue;
    const names = (namesById.get(facilityId) ?? []).map(([name]) => name).join(", ");
    const detail =
      found === false
        ? `the service shows neither storage solutions nor procedures of facility ${facilityId}`
        : `the service shows nothing of facility ${facilityId}: ${found.message}`;
    yield warning(`facility ${names}`, detail, NOT_SHOWN);
  }
}

const STORAGE = { list: "storage", surface: "request" } as const;

/** Whether a list has something of a facility; the refusal where the service says no. */
async function isShown(
  list: Pick<ListQuestion, "list" | "surface">,
  facilityId: number,
  { service, signal }: Asked,
): Promise<boolean | Failure> {
  try {
    return (await service.readPage({ ...list, filters: { facilityId } }, 1, signal)).entries.length > 0;
  } catch (error) {
    const failure = asFailure(error);
    if (IS_NO.has(failure.code)) return failure;
    throw error;
  }
}

/** The service answers, and says no, or what the settings can't read, as the lists have shown. */
const IS_NO: ReadonlySet<string> = new Set([
  ...LASTING,
  "SERVICE_REFUSED",
  "SERVICE_NOT_FOUND",
  "SERVICE_SHAPE_UNKNOWN",
]);
