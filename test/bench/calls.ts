import { PUBLIC_PATHS } from "../../src/core/service-catalogue.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import type { PlannedOrder } from "../support/lab-load.ts";
import { type LabOrder, labCsv } from "../support/lab-messages.ts";
import { startRewritingFront } from "../support/rewriting-front.ts";
import { type ChildSite, withChildSite } from "../support/with-child-site.ts";
import type { BenchReport, Figure } from "./report.ts";

/** What a call is for, as somebody at the other end can tell who sees its method, path and query. */
const PURPOSES = [
  "find subject",
  "register",
  "containers",
  "look",
  "create",
  "details",
  "place",
  "inventory",
  "following",
  "other",
] as const;
type Purpose = (typeof PURPOSES)[number];

/** Those that many orders share, whatever each of them is. */
const SHARED: readonly Purpose[] = ["following", "other"];

/** The first that fits. */
const BY_CALL: readonly (readonly [RegExp, Purpose])[] = [
  [/^GET \S*\/subjects/, "find subject"],
  [/^POST \S*\/subjects/, "register"],
  [/^POST \S*\/procedure/, "create"],
  [/\/location$/, "place"],
  [/\/inventory/, "inventory"],
  [/^GET \S*\/sample-containers/, "containers"],
  [/^GET \S*\/procedure-requests\?\S*subjectCode=/, "look"],
  [/^GET \S*\/external\/procedures\/\d+$/, "details"],
  [/^GET \S*\/procedures?\S*type=REFILL/, "other"],
  [/^GET \S*\/procedure/, "following"],
];

/** Orders of a kind, each at most as many calls of its own as given. */
interface Kind {
  readonly name: string;
  readonly orders: readonly LabOrder[];
  readonly atMost: number;
}

/** A service, and what its site writes under `service`. */
interface Form {
  readonly name: string;
  readonly simulator?: SimulatorOptions;
  readonly service?: Readonly<Record<string, unknown>>;
  readonly kinds: (count: number) => readonly Kind[];
}

const QUICK: SimulatorOptions = {
  staff: { reviewAfterMs: [200, 1_000], acceptanceRate: 1 },
  device: { startAfterMs: [100, 500], runMs: [200, 1_000], failureRate: 0 },
};
const SERVICE = {
  maxRequestsPerSecond: 2_000,
  concurrency: 16,
  timeout: "30s",
  polling: { first: "3s", max: "6s", factor: 1.5 },
  reconcile: { checks: ["5s", "30s"], giveUpAfter: "2m" },
};
const WITHIN_MS = 300_000;

/** In the order in which they have to come: what is retrieved was stored. */
function kindsOf(atMost: {
  readonly fresh: number;
  readonly known: number;
  readonly retrieval: number;
  readonly ten: number;
}): Form["kinds"] {
  return (count) => {
    const list = (prefix: string, make: (n: number) => Partial<LabOrder>, length = count) =>
      Array.from({ length }, (_, n): LabOrder => ({ number: `${prefix}-${n}`, ...make(n) }));
    const ten = (n: number) => Array.from({ length: 10 }, (_, at) => `V-T-${n}-${at}`);
    return [
      { name: "STORE, new subject", orders: list("N", () => ({})), atMost: atMost.fresh },
      {
        name: "STORE, known subject",
        orders: list("K", (n) => ({ subject: `S-N-${n}` })),
        atMost: atMost.known,
      },
      {
        name: "RETRIEVAL",
        orders: list("R", (n) => ({
          operation: "CRYO-RETRIEVE",
          subject: `S-N-${n}`,
          labels: [`V-N-${n}`],
        })),
        atMost: atMost.retrieval,
      },
      {
        name: "STORE, new subject, ten containers",
        orders: list("T", (n) => ({ labels: ten(n) }), Math.ceil(count / 4)),
        atMost: atMost.ten,
      },
    ];
  };
}

const REQUEST_SURFACE = kindsOf({ fresh: 5.2, known: 4.2, retrieval: 4.3, ten: 14.2 });
const EXTERNAL_SURFACE = kindsOf({ fresh: 4.2, known: 4.2, retrieval: 4.3, ten: 4.2 });

/** Of which one reading stands for many single ones. */
const WITH_INVENTORY = kindsOf({ fresh: 3.5, known: 3.5, retrieval: 4.3, ten: 3.5 });

const FORMS: readonly Form[] = [
  { name: "plain", service: { inventory: "none" }, kinds: REQUEST_SURFACE },
  { name: "inventory", kinds: WITH_INVENTORY },
  {
    name: "wrapped",
    simulator: { behaviour: { listEnvelope: "results", errorBody: "nested" } },
    kinds: REQUEST_SURFACE,
  },
  {
    name: "public form",
    // Without its limit, which would make each kind last for minutes.
    simulator: {
      edition: "public",
      behaviour: { callsPerMinute: "unlimited" },
      tokens: { methods: ["basic"] },
    },
    service: { surface: "external", paths: PUBLIC_PATHS },
    kinds: EXTERNAL_SURFACE,
  },
  { name: "external surface", service: { surface: "external" }, kinds: EXTERNAL_SURFACE },
];

/**
 * Calls that the service gets for an order, by what the order is and what they are for, on services of several forms. A call
 * of an order's own stands beside those that all orders share: pages by which they are followed, tokens, refills.
 */
export async function benchCalls(count: number): Promise<BenchReport> {
  const runs: Run[] = [];
  for (const form of FORMS) runs.push(...(await runForm(form, count)));
  return {
    bench: "calls",
    title: `calls of the service for an order, of ${count.toLocaleString("en-US")} of each kind`,
    figures: runs.map(
      ({ name, atMost, calls, orders }): Figure => ({
        name,
        value: sum(calls, (purpose) => !SHARED.includes(purpose)) / orders,
        unit: "calls",
        bound: { atMost },
      }),
    ),
    tables: [
      [
        ["an order of", ...PURPOSES],
        ...runs.map(({ name, calls, orders }) => [
          name,
          ...PURPOSES.map((purpose) => (calls.get(purpose) ?? 0) / orders),
        ]),
      ],
    ],
  };
}

/** The calls of the orders of one kind at one service. */
interface Run {
  readonly name: string;
  readonly orders: number;
  readonly atMost: number;
  readonly calls: ReadonlyMap<Purpose, number>;
}

async function runForm({ name, simulator, service, kinds }: Form, count: number): Promise<Run[]> {
  let calls = new Map<Purpose, number>();
  const front = (serviceUrl: string) =>
    startRewritingFront(serviceUrl, ({ method, url }) => {
      const purpose = BY_CALL.find(([pattern]) => pattern.test(`${method} ${url}`))?.[1] ?? "other";
      calls.set(purpose, (calls.get(purpose) ?? 0) + 1);
      return undefined;
    });
  const options = { simulator: { ...QUICK, ...simulator }, service: { ...SERVICE, ...service }, front };
  return await withChildSite(options, async (site) => {
    const daemon = site.start();
    await daemon.running;
    const runs: Run[] = [];
    const planned: PlannedOrder[] = [];
    for (const kind of kinds(count)) {
      calls = new Map();
      planned.push(...kind.orders.map(toPlanned));
      await Promise.race([runKind(site, kind, planned), daemon.unexpectedEnd]);
      runs.push({ name: `${kind.name}, ${name}`, orders: kind.orders.length, atMost: kind.atMost, calls });
    }
    await daemon.end("SIGTERM");
    return runs;
  });
}

/** @param planned all orders of the site so far */
async function runKind(
  { lab, waitForEnd }: ChildSite,
  { name, orders }: Kind,
  planned: readonly PlannedOrder[],
): Promise<void> {
  await lab.drop("csv", `${orders[0]?.number}.csv`, labCsv(orders));
  const wrong = Object.entries(await waitForEnd(planned, WITHIN_MS)).filter(([, list]) => list.length > 0);
  if (wrong.length > 0) throw new Error(`${name}: ${JSON.stringify(Object.fromEntries(wrong))}`);
}

function toPlanned({ number, operation, subject, labels }: LabOrder): PlannedOrder {
  return {
    number,
    connector: "csv",
    operation: operation === "CRYO-RETRIEVE" ? "RETRIEVAL" : "STORE",
    subject: subject ?? `S-${number}`,
    labels: labels ?? [`V-${number}`],
  };
}

function sum(calls: ReadonlyMap<Purpose, number>, isWanted: (purpose: Purpose) => boolean): number {
  return [...calls].reduce((total, [purpose, count]) => total + (isWanted(purpose) ? count : 0), 0);
}
