import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallMeter, estimateBacklog } from "../../src/app/call-use.ts";
import { asFailure } from "../../src/core/failures.ts";
import { ORDER_STATES, type OrderState } from "../../src/core/order-state.ts";
import { phi } from "../../src/core/phi.ts";
import type { OtherWorkers, ServiceNews } from "../../src/core/service-outage.ts";
import { createServiceClient, type ServiceClient, type ServiceDeps } from "../../src/service/client.ts";
import { readHeaders } from "../../src/service/http/answer.ts";
import { Limiter } from "../../src/service/http/limiter.ts";
import type { Wire, WireResult } from "../../src/service/http/wire.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { FakeClock } from "./fake-clock.ts";
import { logSink, never } from "./with-client.ts";

type Headers = Readonly<Record<string, string>>;

/** How a service says what its limit is, by what it counted in the window and how long that lasts, ms. */
type Says = (window: { readonly count: number; readonly leftMs: number; readonly now: number }) => Headers;

interface Limit {
  readonly calls: number;
  readonly windowMs: number;
  /** How far into a window the first call comes, ms. */
  readonly phaseMs: number;
}

/** A service that counts in windows which begin when its own clock says so. It takes a tenth of a second for an answer. */
class WindowedService implements Wire {
  readonly #clock: FakeClock;
  readonly #limit: Limit;
  readonly #says: Says;
  readonly #counts = new Map<number, number>();
  /** When each call came, and when those that were refused did. */
  readonly cameAt: number[] = [];
  readonly refusedAt: number[] = [];

  constructor(clock: FakeClock, limit: Limit, says: Says) {
    this.#clock = clock;
    this.#limit = limit;
    this.#says = says;
  }

  async exchange({ url }: Parameters<Wire["exchange"]>[0], signal: AbortSignal): Promise<WireResult> {
    await this.#clock.sleep(20, signal);
    const { calls, windowMs, phaseMs } = this.#limit;
    const at = this.#clock.monotonic();
    const nth = Math.floor((at + phaseMs) / windowMs);
    const count = (this.#counts.get(nth) ?? 0) + 1;
    this.#counts.set(nth, count);
    this.cameAt.push(at);
    const isRefused = count > calls;
    if (isRefused) this.refusedAt.push(at);
    const leftMs = (nth + 1) * windowMs - phaseMs - at;
    const headers = this.#says({ count, leftMs, now: this.#clock.now() });
    await this.#clock.sleep(isRefused ? 5 : 80, signal);
    const body = url.pathname.startsWith("/oauth")
      ? { access_token: "t", token_type: "Bearer", expires_in: 600 }
      : {
          ...{ id: 1, code: "S", subjectCode: "S", facilityId: 1, type: "STORE", status: "PENDING" },
          sampleContainers: [{ sampleContainerId: "L", description: "vial" }],
        };
    return {
      kind: "answer",
      status: isRefused ? 429 : 200,
      headers: readHeaders({ "content-type": "application/json", ...headers }),
      body: Buffer.from(JSON.stringify(isRefused ? { error: "slow down" } : body)),
    };
  }

  async close(): Promise<void> {}
}

const CALLS_AN_ORDER = 5;
const PERSON = {
  ...{ code: phi("S"), firstName: phi("A"), lastName: phi("B"), dateOfBirth: phi("1990-01-01") },
};
const REQUEST = {
  ...({ type: "STORE", facilityId: 1, subjectCode: phi("S") } as const),
  containers: [{ label: "L", description: "vial" }],
};
const MINUTE = 60_000;

interface Run {
  readonly service: WindowedService;
  readonly took: number;
  readonly client: ServiceClient;
  /** How long the rest would take, by what was estimated each minute. */
  readonly estimates: readonly { readonly at: number; readonly seconds: number }[];
}

/** Takes orders through a service, up to 16 at the same time, as the jobs do; what is refused for now comes again later. */
async function takeOrders(
  orders: number,
  limit: Limit,
  {
    says = () => ({}),
    workers = 1,
    ...given
  }: Partial<ServiceSettings> & { readonly says?: Says; readonly workers?: number } = {},
): Promise<Run> {
  const clock = new FakeClock();
  const service = new WindowedService(clock, limit, says);
  const deps: ServiceDeps = { clock, wire: service, logger: logSink().logger, random: () => 0.5 };
  const clients: ServiceClient[] = [];
  /** The others hear with their next heartbeat. */
  const reportTo = (news: Partial<ServiceNews>) =>
    void clock.sleep(1_000).then(() => {
      for (const each of clients)
        each.follow({ ...{ callers: workers, outage: undefined, pauseMs: 0, quotas: [] }, ...news });
    });
  const others: OtherWorkers = {
    reportOutage: () => {},
    reportRecovery: () => {},
    reportPause: (ms) => reportTo({ pauseMs: ms - 1_000 }),
    reportQuotas: (source, quotas) => reportTo({ quotas: [{ source, quotas, ageMs: 1_000 }] }),
  };
  const auth = {
    ...{ tokenUrl: "https://service.example/oauth/token", method: "basic" as const },
    ...{ clientId: "c", clientSecret: "s", assumedLifetimeMs: 300_000 },
  };
  for (let nth = 0; nth < workers; nth += 1) {
    const opened = serviceSettings({ baseUrl: "https://service.example", auth, ...given });
    clients.push(createServiceClient(opened, workers > 1 ? { ...deps, others } : deps));
  }
  for (const each of clients)
    if (workers > 1) each.follow({ callers: workers, outage: undefined, pauseMs: 0, quotas: [] });
  const client = clients[0] as ServiceClient;
  let asked = 0;
  const nextClient = () => clients[asked++ % workers] as ServiceClient;
  const insist = async (work: () => Promise<unknown>) => {
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        const { class: kind, retryAfterMs = 2_000 } = asFailure(error);
        if (kind !== "transient") throw error;
        await clock.sleep(retryAfterMs);
      }
    }
  };
  const meter = new CallMeter(client, clock);
  const none = Object.fromEntries(ORDER_STATES.map((state) => [state, 0])) as Record<OrderState, number>;
  const byState = { ...none, received: orders };
  const move = (from: "received" | "submitting" | "submitted", to: OrderState) => {
    byState[from] -= 1;
    byState[to] += 1;
    meter.moved([{ stage: { name: from, seconds: 1 }, to }]);
  };
  /** Orders at the service, each with the moment when its containers are stored. */
  const stored: number[] = [];
  const callFor = async (purpose: "submitting" | "locating") => {
    const calls = nextClient().for(purpose);
    const isSent = purpose === "submitting";
    await insist(() => calls.getSubject(1, never));
    if (isSent) await insist(() => calls.registerSubject(1, PERSON, never));
    await insist(() => (isSent ? calls.create("request", REQUEST, never) : calls.getSubject(1, never)));
  };
  const locate = async () => {
    while (byState.completed < orders) {
      const at = stored.shift();
      await clock.sleep(Math.max(0, (at ?? clock.monotonic() + 1_000) - clock.monotonic()));
      if (at === undefined) continue;
      await callFor("locating");
      move("submitted", "completed");
    }
  };
  const work = async () => {
    while (byState.received > 0) {
      move("received", "submitting");
      await callFor("submitting");
      move("submitting", "submitted");
      stored.push(clock.monotonic() + MINUTE);
    }
  };
  let isOver = false;
  const jobs = [...Array.from({ length: 16 }, work), ...Array.from({ length: 8 }, locate)];
  void Promise.all(jobs).then(() => {
    isOver = true;
  });
  const follow = async () => {
    while (!isOver) {
      await insist(() => client.for("following").getSubject(1, never));
      await clock.sleep(15_000);
    }
  };
  void follow();
  const estimates: { at: number; seconds: number }[] = [];
  while (!isOver) {
    await clock.advance(1_000);
    const at = clock.monotonic();
    if (at % MINUTE !== 0) continue;
    const estimate = estimateBacklog({ byState }, meter.read(), client);
    if (estimate) estimates.push({ at, seconds: estimate.seconds });
  }
  for (const each of clients) await each.close();
  return { service, took: clock.monotonic(), client, estimates };
}

const seconds = (ms: number) => String(Math.ceil(ms / 1_000));

/** Ways in which services say what their limit is. */
const SAYINGS: readonly (readonly [string, Says])[] = [
  [
    "RateLimit and RateLimit-Policy",
    ({ count, leftMs }) => ({
      "ratelimit-policy": '"permin";q=60;w=60, "perday";q=50000;w=86400',
      ratelimit: `"permin";r=${Math.max(0, 60 - count)};t=${seconds(leftMs)}`,
    }),
  ],
  ["RateLimit-Policy alone", () => ({ "ratelimit-policy": "60;w=60" })],
  [
    "RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset",
    ({ count, leftMs }) => ({
      "ratelimit-limit": "60",
      "ratelimit-remaining": String(Math.max(0, 60 - count)),
      "ratelimit-reset": seconds(leftMs),
    }),
  ],
  [
    "X-RateLimit-* with a moment of the epoch, twice each",
    ({ count, leftMs, now }) => ({
      "x-ratelimit-limit": "60, 60",
      "x-ratelimit-remaining": String(Math.max(0, 60 - count)),
      "x-ratelimit-reset": String(Math.ceil((now + leftMs) / 1_000)),
    }),
  ],
  ["X-RateLimit-Limit-Minute", () => ({ "x-ratelimit-limit-minute": "60" })],
];

const PHASES = [0, 1_000, 15_000, 31_000, 47_000, 58_500];
/** Each way meets two of the moments, and each moment is met. */
const SAID = SAYINGS.flatMap(([name, says], nth) =>
  [nth, nth + 3].map((at) => [name, PHASES[at % PHASES.length] as number, says] as const),
);

describe("150 orders at a service that takes 60 calls a minute", () => {
  const orders = 150;
  const limit = { calls: 60, windowMs: MINUTE };
  const leastMs = (orders * CALLS_AN_ORDER * MINUTE) / 60;

  it.each([0, 31_000])("never meet a refusal where that is set, %i ms into a minute", async (phaseMs) => {
    const { service, took } = await takeOrders(orders, { ...limit, phaseMs }, { maxRequestsPerMinute: 60 });
    expect(service.refusedAt).toEqual([]);
    expect(took).toBeLessThanOrEqual(leastMs * 1.15);
  });

  it("are estimated within a fifth of the time that they take, from the first minute on", async () => {
    const { took, estimates } = await takeOrders(
      2 * orders,
      { ...limit, phaseMs: 0 },
      { maxRequestsPerMinute: 60 },
    );
    expect(estimates.length).toBeGreaterThan(20);
    const shares = estimates.map(({ at, seconds: estimated }) => (estimated * 1_000) / (took - at));
    expect(shares.filter((share) => Math.abs(share - 1) > 0.2)).toEqual([]);
  });

  it.each(SAID)("meet none after the first minute by %s, %i ms into one", async (_name, phaseMs, says) => {
    const { service, took, client } = await takeOrders(orders, { ...limit, phaseMs }, { says });
    expect(service.refusedAt.filter((at) => at > MINUTE)).toEqual([]);
    expect(took).toBeLessThanOrEqual(leastMs * 1.15);
    expect(client.limit.quota).toMatchObject({ source: "header", calls: 60, windowMs: MINUTE });
  });

  it.each([1_000, 47_000])(
    "learn it from refusals with Retry-After, %i ms into a minute",
    async (phaseMs) => {
      const says: Says = ({ count, leftMs }) => (count > 60 ? { "retry-after": seconds(leftMs) } : {});
      const { service, took, client } = await takeOrders(orders, { ...limit, phaseMs }, { says });
      expect(service.refusedAt.filter((at) => at > 2 * MINUTE)).toEqual([]);
      expect(took).toBeLessThanOrEqual(leastMs * 1.15);
      expect(client.limit.quota.source).toBe("learned");
    },
  );

  it("are taken by three workers, which learn it together", async () => {
    const { service, took } = await takeOrders(orders, { ...limit, phaseMs: 15_000 }, { workers: 3 });
    expect(service.refusedAt.filter((at) => at > 2 * MINUTE)).toEqual([]);
    // Each knows how many of its own got through, and has whole calls.
    expect(took).toBeLessThanOrEqual(leastMs * 1.25);
  });

  it.each(PHASES)("learn it from bare refusals, %i ms into a minute", async (phaseMs) => {
    const { service, took, client } = await takeOrders(orders, { ...limit, phaseMs });
    expect(service.refusedAt.filter((at) => at > 2 * MINUTE)).toEqual([]);
    expect(took).toBeLessThanOrEqual(leastMs * 1.15);
    expect(client.limit.quota.source).toBe("learned");
  });
});

/** The most that came within so long, wherever that begins. */
function mostWithin(windowMs: number, cameAt: readonly number[]): number {
  const sorted = [...cameAt].sort((a, b) => a - b);
  let from = 0;
  return sorted.reduce((most, at, nth) => {
    while (at - (sorted[from] ?? at) >= windowMs) from += 1;
    return Math.max(most, nth - from + 1);
  }, 0);
}

describe("no window holds more calls than its limit, wherever it begins", () => {
  const windowMs = fc.constantFrom(1_000, 10_000, MINUTE);
  const calls = fc.integer({ min: 1, max: 100 });
  /** Calls that come to wait at some moment. */
  const comings = fc.array(fc.record({ atMs: fc.nat(120_000), count: fc.integer({ min: 1, max: 60 }) }), {
    minLength: 1,
    maxLength: 6,
  });

  it("with any number of workers, whenever calls come, and though the network holds some up", () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({ windowMs, calls, comings, workers: fc.integer({ min: 1, max: 4 }), seed: fc.nat(999) }),
        async (limit) => {
          const clock = new FakeClock();
          const cameAt: number[] = [];
          const settings = { maxRequestsPerSecond: 1_000, concurrency: 8, maxWaitMs: 15_000 };
          const q = Math.max(limit.calls, limit.workers);
          const quotas = [{ calls: q, windowMs: limit.windowMs }];
          for (let worker = 0; worker < limit.workers; worker += 1) {
            const gate = new Limiter(settings, clock, () => 0);
            const news = { callers: limit.workers, pauseMs: 0 };
            gate.follow({ ...news, quotas: [{ source: "header", quotas, ageMs: 0 }] });
            limit.comings.forEach(async ({ atMs, count }, nth) => {
              await clock.sleep(atMs);
              for (let call = 0; call < count; call += 1) {
                void gate.run(never, { purpose: "other" }, async (turn) => {
                  const { at } = await turn(never);
                  // Some arrive at once, others late.
                  cameAt.push(at + ((limit.seed + nth + call) % 2) * Math.min(1_000, limit.windowMs / 40));
                });
              }
            });
          }
          await clock.advance(200_000);
          expect(mostWithin(limit.windowMs, cameAt)).toBeLessThanOrEqual(q);
        },
      ),
      { numRuns: 30 },
    ));
});
