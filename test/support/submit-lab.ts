import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import type { OrderState } from "../../src/core/order-state.ts";
import { noTracer } from "../../src/core/order-step.ts";
import type { SubmitDeps, SubmitSettings } from "../../src/jobs/submit/deps.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { ME, UNCOUNTED } from "./hand-over.ts";
import { serviceSettings } from "./service-settings.ts";
import { SUBMIT_SETTINGS } from "./submit.ts";
import { byRequest } from "./ways.ts";
import { silent, withLedger } from "./with-ledger.ts";

const never = new AbortController().signal;

/** A ledger whose orders are submitted to a simulator in which nothing moves by itself. */
export interface SubmitLab {
  readonly pool: pg.Pool;
  readonly simulator: Simulator;
  readonly service: ServiceClient;
  /** Submits all orders that are due, those of one lane after each other. */
  submit(): Promise<void>;
}

/** What a lab may have other than usual. */
export interface SubmitLabOptions {
  readonly simulator?: SimulatorOptions;
  readonly service?: Partial<ServiceSettings>;
  readonly settings?: Partial<SubmitSettings>;
  /** How much of a back-off is waited; none unless given. */
  readonly random?: () => number;
  /** The states that the lab is sent; all unless given. */
  readonly sends?: readonly OrderState[];
}

/** Runs a test with a ledger, a simulator, and the job that submits orders of one to the other. */
export async function withSubmitLab<T>(
  run: (lab: SubmitLab) => Promise<T>,
  options: SubmitLabOptions = {},
): Promise<T> {
  return withLedger(async ({ pool }) => {
    const still = { staff: { auto: false }, device: { auto: false } };
    const simulator = await createSimulator({ port: 0, ...still, ...options.simulator });
    const service = createServiceClient(
      serviceSettings({
        baseUrl: simulator.url,
        auth: { apiToken: "simulator-api-token" },
        maxRequestsPerSecond: 1_000,
        ...options.service,
      }),
      { clock: systemClock, logger: silent },
    );
    const deps: SubmitDeps = {
      pool,
      writer: openOrderWriter(pool, UNCOUNTED),
      service,
      logger: silent,
      tracer: noTracer,
      random: options.random ?? (() => 0),
      worker: { id: ME, isSure: true },
      requireNewestKnown: async () => undefined,
      inHand: new InHand(),
      isSent: (_, state) => options.sends?.includes(state) ?? true,
      settings: { ...SUBMIT_SETTINGS, wayOf: byRequest, ...options.settings },
    };
    const submit = async () => {
      while ((await submitDue(100, deps, never)) > 0);
    };
    try {
      return await run({ pool, simulator, service, submit });
    } finally {
      await service.close();
      await simulator.close();
    }
  });
}
