import type { Clock } from "../../core/clock.ts";
import type { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { ContainerLocation } from "../../core/outcome.ts";
import type { Tank } from "../../core/refill.ts";
import { serviceTimeMs } from "../../core/service-time.ts";

/** Whether places of inventories are taken: `untried` until one was compared with what the service says of that container alone. */
export type InventoryTrust = "trusted" | "untried" | "none";

/** How a place of an inventory agreed with that container's own location, and what that one shows. */
export interface Judged {
  readonly agreement: Agreement;
  readonly fields: readonly LocationField[];
}

/** What one reading of an inventory found. */
interface Reading {
  /** Calls that the whole of it takes. */
  readonly calls: number;
  /** Containers in it. */
  readonly size: number;
  /** Of those that were looked for, the share that it showed. */
  readonly share: number;
}

interface Fact<T> {
  readonly value: T;
  readonly at: number;
}

/** What was found out is forgotten after an hour, as all that is learned of the service. */
const LIFE_MS = 3_600_000;
/** An inventory of so many containers costs about as much again as a call: it has to be sent and read whole. */
const CONTAINERS_A_CALL = 1_000;
/** Trials without a result, such as while the service shows no location of the container, after which there are none for a while. */
const MOST_TRIALS = 3;

/**
 * What reading inventories is worth, learned while working and kept in memory. An inventory that can't be read, shows no places, or
 * others than single reads do, is left alone for an hour, and so is one that takes more calls than it saves.
 */
export class InventoryWorth {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #readings = new Map<number, Fact<Reading>>();
  readonly #names = new Map<number, Fact<{ readonly name: string | undefined }>>();
  readonly #useless = new Map<number | "all", Fact<true>>();
  #judged: Fact<Judged> | undefined;
  #trials: Fact<number> | undefined;
  #isPaged: Fact<boolean> | undefined;
  /** When one was last read that shows containers with their places, monotonic ms. */
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get agreement(): Agreement | undefined {
    return this.#known(this.#judged)?.agreement;
  }

  /** What a place has to say to say as much as the one that was compared. */
  get agreedFields(): readonly LocationField[] {
    return this.#known(this.#judged)?.fields ?? [];
  }

  /** Whether inventories come in pages; undefined while that is not known. */
  get isPaged(): boolean | undefined {
    return this.#known(this.#isPaged);
  }

  sawPaged(isPaged: boolean): void {
    this.#isPaged = this.#fact(isPaged);
  }

  /** How many calls may be made for an inventory in place of `singleCalls`: as many as it can be expected to save, or none. */
  callsFor(storageId: number, singleCalls: number): number {
    if (this.#known(this.#useless.get("all")) || this.#known(this.#useless.get(storageId))) return 0;
    const { calls, size, share } = this.#known(this.#readings.get(storageId)) ?? UNREAD;
    const saved = share * singleCalls;
    return calls + size / CONTAINERS_A_CALL < saved ? Math.floor(saved) : 0;
  }

  /** One that shows ever less of what is looked for, since it lags behind, is read ever less often. */
  sawReading(storageId: number, reading: Reading): void {
    if (reading.size > 0) this.#shownAt = this.#clock.monotonic();
    const before = this.#known(this.#readings.get(storageId)) ?? UNREAD;
    const share = (before.share + reading.share) / 2;
    this.#readings.set(storageId, this.#fact({ ...reading, share }));
  }

  /** The answer is of a form in which no places are found; all inventories are of one form. */
  sawUnknownForm(storageId: number): void {
    this.#useless.set("all", this.#fact(true));
    this.#logger.info(
      { storageId },
      "the service's inventory shows no places of containers, or in an unknown form (service.inventory)",
    );
  }

  /** It could not be read. Where none could be read lately, that is so for all of them. */
  sawFailure(storageId: number, failure: Failure): void {
    const isForAll = this.#clock.monotonic() - this.#shownAt >= LIFE_MS;
    this.#useless.set(isForAll ? "all" : storageId, this.#fact(true));
    this.#logger.info({ storageId, err: failure }, "an inventory of the service can't be read");
  }

  /** A container's place in an inventory was compared; undefined when the service showed none to compare with. */
  sawTrial(judged: Judged | undefined): void {
    if (judged !== undefined) {
      const { agreement } = judged;
      if (agreement !== "same" && this.agreement !== agreement) {
        this.#logger.warn({ agreement }, REMARKS[agreement]);
      }
      this.#judged = this.#fact(judged);
      this.#trials = undefined;
      return;
    }
    const trials = (this.#known(this.#trials) ?? 0) + 1;
    this.#trials = this.#fact(trials);
    if (trials >= MOST_TRIALS) this.#useless.set("all", this.#fact(true));
  }

  /** A storage solution's name by their list, which is read again when it is older than an hour; undefined where it has none. */
  async nameOf(storageId: number, list: () => Promise<readonly Tank[]>): Promise<string | undefined> {
    const known = this.#names.get(storageId);
    if (known !== undefined && this.#known(known) !== undefined) return known.value.name;
    const tanks = await list();
    for (const tank of [{ storageId, name: undefined }, ...tanks]) {
      this.#names.set(tank.storageId, this.#fact({ name: tank.name }));
    }
    return this.#names.get(storageId)?.value.name;
  }

  #fact<T>(value: T): Fact<T> {
    return { value, at: this.#clock.monotonic() };
  }

  #known<T>(fact: Fact<T> | undefined): T | undefined {
    return fact && this.#clock.monotonic() - fact.at < LIFE_MS ? fact.value : undefined;
  }
}

/** What is expected of an inventory that was not read yet. */
const UNREAD: Reading = { calls: 1, size: 0, share: 1 };

const REMARKS: Readonly<Record<Exclude<Agreement, "same">, string>> = {
  less: "the service's inventory shows less of a place than a container's own location, or writes it another way, so places are asked for singly (service.inventory: always takes what it shows)",
  other:
    "the service's inventory shows another place than a container's own location, so places are asked for singly",
};

/**
 * What an inventory says of a container, against what the service says of that container alone.
 * - `same`: the same place, written the same way, and as much about it.
 * - `less`: no other place, but without a slot or a time, or written another way, such as in parts instead of a text: results would
 *   say it in other fields.
 * - `other`: another place.
 */
export type Agreement = "same" | "less" | "other";

const FIELDS = ["storageName", "canister", "cane", "position", "storedAt"] as const;
/** A part of a location that the service may show. */
export type LocationField = (typeof FIELDS)[number];

/** What a location shows. */
export function fieldsOf(location: ContainerLocation): LocationField[] {
  return FIELDS.filter((field) => location[field] !== undefined);
}

/** Compares the two, field by field; a slot beside canister and cane is another thing than a text that has all three. */
export function compareLocations(shown: ContainerLocation, single: ContainerLocation): Agreement {
  const [ofShown, ofSingle] = [fieldsOf(shown), fieldsOf(single)];
  const isOtherForm = (["canister", "cane"] as const).some(
    (level) => ofShown.includes(level) !== ofSingle.includes(level),
  );
  const isOther =
    areDifferent(shown.storageId, single.storageId) ||
    areDifferent(shown.storageName, single.storageName) ||
    areDifferent(instant(shown.storedAt), instant(single.storedAt)) ||
    areDifferent(shown.canister, single.canister) ||
    areDifferent(shown.cane, single.cane) ||
    (!isOtherForm && areDifferent(shown.position, single.position));
  if (isOther) return "other";
  // A name, a time or a slot more does no harm.
  return isOtherForm || ofSingle.some((field) => !ofShown.includes(field)) ? "less" : "same";
}

function areDifferent<T>(a: T | undefined, b: T | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** A time that can't be read is compared as it is written. */
function instant(time: string | undefined): number | string | undefined {
  return serviceTimeMs(time) ?? time;
}
