import type pg from "pg";
import { asFailure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { Refill } from "../../core/refill.ts";
import {
  keepTanks,
  type ListedTank,
  listLastRefills,
  listListedTanks,
  listSubscriptions,
  type RefillFacility,
  type RefillSubscription,
  type TankRefill,
} from "../../ledger/refills.ts";
import type { ServiceCalls } from "../../service/client.ts";

/** What looking for tanks is given. */
export interface TankDeps {
  readonly pool: pg.Pool;
  readonly service: Pick<ServiceCalls, "listTanks">;
  readonly logger: Logger;
  /**
   * Whether the credential reaches the list of storage solutions, which belongs to the request surface. Where it
   * doesn't, asking would be taken for a refused credential, and that holds up all calls.
   */
  readonly mayListTanks: (facilityId: number) => boolean;
}

/** When tanks alert. */
export interface TankLimits {
  /** ms; undefined for no alert. */
  readonly alertAfterMs?: number | undefined;
  /** `off`, or ms, by a tank's name or id, or `FACILITY/NAME`. */
  readonly tanks: ReadonlyMap<string, number | "off">;
}

/** A tank and how long ago it was refilled. */
export interface TankAge {
  readonly facilityCode: string;
  readonly storageId: number | undefined;
  /** Undefined for refills of which the service doesn't name the tank: they count as one unknown tank of the facility. */
  readonly storageName: string | undefined;
  /** Undefined when none was ever seen. */
  readonly lastRefillAt: Date | undefined;
  /** The last refill, or when the tank was first seen; what its age is counted from. */
  readonly since: Date;
  /** ms; undefined when it never alerts. */
  readonly limitMs: number | undefined;
  readonly isOverdue: boolean;
}

/**
 * The tanks of a facility, listed again with a whole reading or when a refill names one that is not known. When the
 * list can't be read, what is known has to do.
 */
export async function knowTanks(
  { facilityId, facilityCode }: RefillFacility,
  refills: readonly Refill[],
  isWhole: boolean,
  { pool, service, logger, mayListTanks }: TankDeps,
  signal: AbortSignal,
): Promise<readonly ListedTank[]> {
  const own = async () => (await listListedTanks(pool)).filter((tank) => tank.facilityId === facilityId);
  const known = await own();
  const knownIds = new Set(known.map(({ storageId }) => storageId));
  const hasNew = refills.some(({ storageId }) => storageId !== undefined && !knownIds.has(storageId));
  if (!mayListTanks(facilityId) || (!isWhole && !hasNew)) return known;
  try {
    await keepTanks(pool, facilityId, await service.listTanks(facilityId, signal));
    return await own();
  } catch (error) {
    const failure = asFailure(error);
    if (signal.aborted || failure.code.startsWith("LEDGER_")) throw failure;
    logger.debug({ facility: facilityCode, err: failure }, "the tanks of a facility can't be listed");
    return known;
  }
}

/** A refill with the name of its tank where the service showed only its id, and the id where only the name. */
export function withTank(refill: Refill, tanks: readonly ListedTank[]): Refill {
  const { storageId, storageName } = refill;
  const named = tanks.filter(({ name }) => name === storageName);
  return {
    ...refill,
    storageId: storageId ?? (named.length === 1 ? named[0]?.storageId : undefined),
    storageName: storageName ?? tanks.find((tank) => tank.storageId === storageId)?.name ?? undefined,
  };
}

/** What is known of tanks; see {@link judgeTanks}. */
export interface TankFacts {
  readonly subscriptions: readonly RefillSubscription[];
  readonly lastRefills: readonly TankRefill[];
  readonly listed: readonly ListedTank[];
}

/** A tank that no list names for this long is no longer there. Lists of tanks are read once a day. */
const UNLISTED_MS = 3 * 86_400_000;

/** The tanks of all facilities that are followed, those without a refill for longest first. */
export async function readTankAges(pool: pg.Pool, limits: TankLimits, nowMs: number): Promise<TankAge[]> {
  const [subscriptions, lastRefills, listed] = await Promise.all([
    listSubscriptions(pool),
    listLastRefills(pool),
    listListedTanks(pool),
  ]);
  return judgeTanks({ subscriptions, lastRefills, listed }, limits, nowMs);
}

/**
 * How long ago each tank was refilled, and whether that is too long. A tank that is listed but was never refilled is
 * counted from when it was first seen, unless it can't be said to be without refills: where the service doesn't name
 * the tank of a refill, or lists the tank for several facilities, so that it isn't known whose it is.
 */
export function judgeTanks(facts: TankFacts, limits: TankLimits, nowMs: number): TankAge[] {
  const ages = facts.subscriptions
    .flatMap((subscription) => tanksOf(subscription, facts))
    .map((tank) => {
      const limitMs = limitOf(tank, limits);
      return { ...tank, limitMs, isOverdue: limitMs !== undefined && nowMs - tank.since.getTime() > limitMs };
    });
  return ages.sort((a, b) => a.since.getTime() - b.since.getTime());
}

type Tank = Omit<TankAge, "limitMs" | "isOverdue">;

function tanksOf(
  { facilityId, facilityCode, ...subscription }: RefillSubscription,
  facts: TankFacts,
): Tank[] {
  const listed = facts.listed.filter((tank) => tank.facilityId === facilityId);
  const refills = latestByTank(facts.lastRefills.filter((each) => each.facilityId === facilityId));
  const refilled = refills.map((refill): Tank => {
    const own = listed.find(({ storageId }) => storageId === refill.storageId);
    return {
      facilityCode,
      storageId: refill.storageId ?? undefined,
      storageName: own?.name ?? refill.storageName ?? undefined,
      lastRefillAt: refill.completedAt,
      since: refill.completedAt,
    };
  });
  const areTanksNamed = !refills.some(isTankless);
  const newestListing = Math.max(0, ...listed.map(({ listedAt }) => listedAt.getTime()));
  const never = listed
    .filter(({ storageId }) => !refills.some((refill) => refill.storageId === storageId))
    .filter(({ storageId }) =>
      facts.listed.every((other) => other.storageId !== storageId || other.facilityId === facilityId),
    )
    .filter(({ listedAt }) => newestListing - listedAt.getTime() < UNLISTED_MS)
    .map(
      ({ storageId, name, firstSeenAt }): Tank => ({
        facilityCode,
        storageId,
        storageName: name ?? undefined,
        lastRefillAt: undefined,
        since: firstSeenAt,
      }),
    );
  const known = areTanksNamed ? [...refilled, ...never] : refilled;
  if (known.length > 0) return known;
  const since = subscription.subscribedAt;
  return [{ facilityCode, storageId: undefined, storageName: undefined, lastRefillAt: undefined, since }];
}

const isTankless = ({ storageId, storageName }: TankRefill) => storageId === null && storageName === null;

/** One entry a tank: a service that shows its name sometimes or renamed it would else show it twice. */
function latestByTank(refills: readonly TankRefill[]): TankRefill[] {
  const groups = Map.groupBy(refills, ({ storageId, storageName }) => storageId ?? storageName ?? "");
  return [...groups.values()].flatMap((group) => {
    const [latest] = group.toSorted((a, b) => b.completedAt.getTime() - a.completedAt.getTime());
    return latest ?? [];
  });
}

/** What a person wrote for this very tank goes before what they wrote for its name, and that before `alertAfter`. */
function limitOf(tank: Tank, { alertAfterMs, tanks }: TankLimits): number | undefined {
  const names = [tank.storageName, tank.storageId?.toString()].filter((name) => name !== undefined);
  const keys = [...names.map((name) => `${tank.facilityCode}/${name}`), ...names];
  const limit = keys.map((key) => tanks.get(key)).find((each) => each !== undefined) ?? alertAfterMs;
  return limit === "off" ? undefined : limit;
}

/** A tank's name for people: `Tank 4`, `tank 31`, or words that it isn't known. */
export function tankName({
  storageId,
  storageName,
}: {
  readonly storageId?: number | undefined;
  readonly storageName?: string | undefined;
}): string {
  if (storageName !== undefined) return storageName;
  return storageId === undefined ? "(tank not known)" : `tank ${storageId}`;
}
