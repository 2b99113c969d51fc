import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import type { Surface } from "../../src/core/surface.ts";
import { composeRefills } from "../../src/jobs/compose-refills.ts";
import { PutOffReads } from "../../src/jobs/put-off-reads.ts";
import { type RefillDeps, readFacilityRefills } from "../../src/jobs/refills.ts";
import {
  listSubscriptions,
  type RefillSubscription,
  subscribeRefills,
} from "../../src/ledger/refill-subscriptions.ts";
import { builtinProfiles } from "../../src/mapping/builtin.ts";
import { compileProfile } from "../../src/mapping/compile-profile.ts";
import type { Profile } from "../../src/mapping/profile.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { silent, withLedger } from "./with-ledger.ts";

/** A ledger that follows the refills of facility 12, and a service in which nothing moves by itself. */
export interface RefillLab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  readonly deps: RefillDeps;
  /** A tank of the facility. */
  readonly tankId: number;
  /** Reads once, as the daemon would. */
  read(parts?: Partial<RefillDeps>): Promise<void>;
  subscription(): Promise<RefillSubscription>;
  /** Creates a refill and brings it to its end. */
  refill(end?: "complete" | "fail" | "cancel"): number;
  /** Files for the lab, in their order: name and text. */
  files(): Promise<{ name: string; text: string }[]>;
}

/** A built-in profile, compiled. */
export async function builtinProfile(format: "csv" | "hl7"): Promise<Profile> {
  const name = format === "csv" ? "builtin/csv-orders" : "builtin/hl7-orders";
  const loadModule = () => Promise.reject(new Error("there is no module"));
  const compiled = await compileProfile(name, builtinProfiles[name] ?? {}, { loadModule });
  if (!compiled.ok) throw new Error("the built-in profile doesn't compile");
  return compiled.profile;
}

export interface RefillLabOptions {
  readonly surface?: Surface;
  readonly format?: "csv" | "hl7";
  readonly statuses?: readonly string[];
  readonly simulator?: SimulatorOptions;
}

/** Gives a test such a lab and takes it away afterwards. */
export async function withRefillLab<T>(
  options: RefillLabOptions,
  test: (lab: RefillLab) => Promise<T>,
): Promise<T> {
  const { surface = "request", format = "csv" } = options;
  return withLedger(async ({ pool }) => {
    const idle = { staff: { auto: false }, device: { auto: false } } as const;
    const simulator = await createSimulator({ ...idle, ...options.simulator, port: 0 });
    const service = createServiceClient(
      {
        baseUrl: simulator.url,
        auth: { apiToken: "simulator-api-token" },
        maxRequestsPerSecond: 1_000,
        timeoutMs: 20_000,
      },
      { clock: systemClock, logger: silent },
    );
    const compose = composeRefills(await builtinProfile(format), "P");
    const deps: RefillDeps = {
      pool,
      service,
      clock: systemClock,
      logger: silent,
      telling: { connector: "bench", compose },
      statuses: new Set(options.statuses ?? ["COMPLETED", "CANCELLED", "FAILED"]),
      mayListTanks: () => true,
      keptMs: 2 * 365 * 86_400_000,
      putOff: new PutOffReads(),
    };
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
        files: async () => {
          const { rows } = await pool.query<{ file_name: string; bytes: Buffer }>(
            "select file_name, bytes from deliveries order by id",
          );
          return rows.map((row) => ({ name: row.file_name, text: row.bytes.toString("utf8") }));
        },
      });
    } finally {
      await service.close();
      await simulator.close();
    }
  });
}
