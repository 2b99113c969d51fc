import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import type { Surface } from "../../src/core/surface.ts";
import { type ReadingMemory, type RefillDeps, readFacilityRefills } from "../../src/jobs/refills/refills.ts";
import {
  countRefills,
  type LedgerRefill,
  listRefills,
  listSubscriptions,
  type RefillSubscription,
  subscribeRefills,
} from "../../src/ledger/refills.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { serviceSettings } from "./service-settings.ts";
import { silent, withLedger } from "./with-ledger.ts";

/** A ledger that follows the refills of facility 12, and a service in which nothing moves by itself. */
export interface RefillLab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  readonly deps: RefillDeps;
  /** A tank of the facility. */
  readonly tankId: number;
  /** Reads once, as the daemon would; a restart forgets what one reading leaves for the next. */
  read(parts?: Partial<RefillDeps>): Promise<void>;
  restart(): void;
  subscription(): Promise<RefillSubscription>;
  /** What the ledger has, the latest change first. */
  refills(): Promise<LedgerRefill[]>;
  /** How often each status was reached. */
  counts(): Promise<Record<string, number>>;
  /** Creates a refill and brings it to its end. */
  refill(end?: "complete" | "fail" | "cancel"): number;
}

export interface RefillLabOptions {
  readonly surface?: Surface;
  readonly simulator?: SimulatorOptions;
}

/** Gives a test such a lab and takes it away afterwards. */
export async function withRefillLab<T>(
  options: RefillLabOptions,
  test: (lab: RefillLab) => Promise<T>,
): Promise<T> {
  const { surface = "request" } = options;
  return withLedger(async ({ pool }) => {
    const idle = { staff: { auto: false }, device: { auto: false } } as const;
    const simulator = await createSimulator({ ...idle, ...options.simulator, port: 0 });
    const service = createServiceClient(
      serviceSettings({
        baseUrl: simulator.url,
        auth: { apiToken: "simulator-api-token" },
        maxRequestsPerSecond: 1_000,
        timeoutMs: 20_000,
      }),
      { clock: systemClock, logger: silent },
    );
    const deps: RefillDeps = {
      pool,
      service,
      clock: systemClock,
      logger: silent,
      mayListTanks: () => true,
      keptMs: 2 * 365 * 86_400_000,
    };
    let memory: ReadingMemory = { hints: {} };
    const { control } = simulator;
    const tankId = control.storages().find(({ facilityId }) => facilityId === 12)?.id ?? 0;
    const subscription = async () => {
      const [first] = await listSubscriptions(pool);
      if (!first) throw new Error("nothing is subscribed");
      return first;
    };
    await subscribeRefills(pool, [{ facilityId: 12, facilityCode: "NORTH", surface }]);
    try {
      return await test({
        pool,
        simulator,
        service,
        deps,
        tankId,
        subscription,
        read: async (parts = {}) => {
          await readFacilityRefills(
            await subscription(),
            memory,
            { ...deps, ...parts },
            new AbortController().signal,
          );
        },
        refill: (end = "complete") => {
          const { id } = control.createRefill(tankId);
          control.startProcedure(id);
          if (end === "complete") control.completeProcedure(id);
          else if (end === "fail") control.failProcedure(id, "valve is stuck");
          else control.cancelProcedure(id);
          return id;
        },
        restart: () => {
          memory = { hints: {} };
        },
        refills: () => listRefills(pool, { limit: 1_000 }),
        counts: async () =>
          Object.fromEntries((await countRefills(pool)).map(({ status, count }) => [status, count])),
      });
    } finally {
      await service.close();
      await simulator.close();
    }
  });
}
