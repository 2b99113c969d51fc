import { describe, expect, it } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import { condition } from "../../src/core/condition.ts";
import { labConditions } from "../../src/jobs/deliver/lab-breaker.ts";
import type { LedgerAttention } from "../../src/ledger/operator/still-orders.ts";
import type { WorkerView } from "../../src/ledger/workers/roster.ts";
import { sayOnce } from "../../src/standing/parts.ts";
import type { Attention, Status } from "../../src/standing/status-document.ts";
import { serviceView } from "../support/service-view.ts";
import { countsOf, withConsole } from "./console-fixture.ts";
import { withPages, wordsOf } from "./pages/with-pages.ts";

const QUIET: LedgerAttention = {
  orders: [],
  deliveries: [],
  pausedQueues: [],
  alertPlaces: [],
  refusals: [],
};
const SINCE = new Date("2026-11-22T08:00:00Z");
const OUT = "the storage service is out of reach since 08:00: status 503";
const OUTAGE = {
  own: () => [condition("serviceUnreachable", "", OUT)],
} satisfies Partial<ConsoleDeps>;
const PARKED = (["SUBJECT_UNKNOWN", "CONTAINER_UNKNOWN"] as const).map((code, n) => ({
  ...{ kind: "parked", orderId: `o${n + 1}`, orderIds: [], count: 1, since: SINCE, text: "x", code },
  ...(n === 0 ? { behind: 2 } : {}),
})) as LedgerAttention["orders"];

async function statusOf(deps: Partial<ConsoleDeps>): Promise<Status> {
  let found: Status | undefined;
  await withConsole({ deps }, async ({ url }) => {
    found = (await (await fetch(`${url}/api/status`)).json()) as Status;
  });
  if (!found) throw new Error("no status");
  return found;
}

const worker = (id: number, name: string, more: Partial<WorkerView>): WorkerView => ({
  ...{ id, name, host: "lab", pid: id, version: "1", roles: ["worker"], connectors: [] },
  ...{
    startedAt: SINCE,
    heartbeatAt: SINCE,
    silentMs: 0,
    reload: 0,
    drainAt: null,
    endedAt: null,
    endedAs: null,
  },
  ...{ isAlive: true, isLeader: false, inHand: 0, conditions: [], configuration: null },
  ...more,
});

const connector = (name: string) => ({
  ...{ connector: name, type: "mllp", isTaking: true, trouble: null, warning: null },
  ...{ labOutage: null, connections: 0 },
});
const AWAY = {
  since: SINCE,
  cause: "MLLP_UNREACHABLE",
  nextTryAt: new Date(SINCE.getTime() + 60_000),
} as const;

const partIn = ({ parts }: Status, name: string) => parts.find((part) => part.name === name);

describe("the parts of which everything else depends", () => {
  it("are up when all is well, and what nobody knows is left out", async () => {
    const { parts } = await statusOf({ attention: async () => QUIET });
    expect(parts.every(({ state }) => state === "up")).toBe(true);
    expect(parts.map(({ name }) => name)).toEqual(["intake", "queues"]);
  });

  it("say that the service is down and since when, though orders are taken", async () => {
    const status = await statusOf({ ...OUTAGE, attention: async () => QUIET });
    expect(partIn(status, "intake")).toMatchObject({ state: "up" });
    expect(partIn(status, "storage service")).toMatchObject({ state: "down", words: OUT });
  });

  it("name each lab that is away, say of none that it takes results before it took one, and who paused a queue", async () => {
    const status = await statusOf({
      own: () => labConditions("ward", AWAY, SINCE.getTime()),
      connectors: () => [connector("ward"), connector("bench")],
      attention: async () => ({
        ...QUIET,
        pausedQueues: [{ queue: "submit", actor: "kim", since: SINCE, reason: "they move" }],
      }),
    });
    expect(partIn(status, "lab of ward")).toMatchObject({
      ...{ state: "down", since: SINCE.toISOString(), nextTryAt: AWAY.nextTryAt.toISOString() },
    });
    expect(status.connectors?.map(({ isLabAway }) => isLabAway)).toEqual([true, false]);
    expect(partIn(status, "lab of bench")).toBeUndefined();
    // Orders go on meanwhile.
    expect(status.reasons).toEqual([]);
    const failing = {
      connector: "bench",
      state: "pending",
      deliveryId: "d1",
      count: 1,
      since: SINCE,
    } as const;
    const ofAnother = await statusOf({
      connectors: () => [connector("bench")],
      attention: async () => ({
        ...QUIET,
        deliveries: [{ ...failing, code: "MLLP_UNREACHABLE", text: "x" }],
      }),
    });
    expect(partIn(ofAnother, "lab of bench")).toMatchObject({ state: "down", since: SINCE.toISOString() });
    expect(ofAnother.connectors).toMatchObject([{ connector: "bench", isLabAway: true }]);
    const labsOf = async (takers: readonly string[], attention = async () => QUIET) => {
      const { parts } = await statusOf({
        connectors: () => [connector("ward"), connector("bench")],
        attention,
        takers: async () => new Set(takers),
      });
      return parts.flatMap(({ name, state, words }) => (/lab/.test(name) ? [[name, state, words]] : []));
    };
    expect(await labsOf([])).toEqual([["labs", "unknown", "no result taken yet"]]);
    expect(await labsOf(["ward", "bench"])).toEqual([["labs", "up", "take results"]]);
    // While nobody knows which results fail, nothing is said of them.
    expect(await labsOf(["ward", "bench"], () => Promise.reject(new Error("no answer")))).toEqual([]);
    // One that took none is not hidden behind another's.
    expect(await labsOf(["ward"])).toEqual([
      ["other labs", "up", "take results"],
      ["lab of bench", "unknown", "no result taken yet"],
    ]);
    expect(partIn(status, "queue submit")).toMatchObject({
      words: "paused by kim: they move; orders are taken, and nothing is sent to the service",
      since: SINCE.toISOString(),
    });
  });

  it("are wrong by the conditions about them, whichever daemon says so, and by nothing else", async () => {
    const text = "the job queue's server is away";
    const { parts } = await statusOf({
      own: () => [condition("daemonTrouble", "queue", text, { part: "daemons" })],
      workers: async () => [worker(1, "north", {})],
    });
    expect(parts.find(({ name }) => name === "daemons")).toMatchObject({
      ...{ state: "waits", words: `1 works, ${text}`, command: "cryobridge check" },
    });
    const conditions = labConditions("ward", { ...AWAY, cause: "MLLP_NO_ANSWER" }, SINCE.getTime());
    const ofAnother = await statusOf({
      connectors: () => [connector("ward"), connector("bench")],
      workers: async () => [worker(1, "north", { conditions })],
    });
    expect(partIn(ofAnother, "lab of ward")).toMatchObject({
      ...{ state: "down", words: "takes no results: MLLP_NO_ANSWER", since: SINCE.toISOString() },
    });
    expect(ofAnother.connectors?.map(({ isLabAway }) => isLabAway)).toEqual([true, false]);
  });

  it("say of no lab that it is away which merely puts a result off", async () => {
    const off = { connector: "bench", state: "pending", deliveryId: "d1", count: 1, since: SINCE } as const;
    const status = await statusOf({
      connectors: () => [connector("bench")],
      attention: async () => ({ ...QUIET, deliveries: [{ ...off, code: "MLLP_RESULT_ERROR", text: "AE" }] }),
      takers: async () => new Set(["bench"]),
    });
    expect(status.connectors).toMatchObject([{ isLabAway: false }]);
    expect(partIn(status, "labs")).toMatchObject({ state: "up" });
    expect(status.attention).toMatchObject([{ what: expect.stringContaining("1 result"), part: null }]);
  });

  it("say of the service when it answered, once nobody has called it for long", async () => {
    const partOf = async (ageMs: number) => {
      const answeredAt = new Date(Date.now() - ageMs).toISOString();
      const service = () => serviceView({ isReachable: true, answeredAt });
      return partIn(await statusOf({ service }), "storage service");
    };
    expect(await partOf(60_000)).toMatchObject({ state: "up", words: "answers" });
    expect(await partOf(3 * 3_600_000)).toMatchObject({
      ...{ state: "unknown", words: "answered 3h ago, not called since" },
    });
  });
});

it("metrics ask nothing that no metric needs", async () => {
  const asked: string[] = [];
  const takers = async () => {
    asked.push("takers");
    return new Set<string>();
  };
  await withConsole({ deps: { takers } }, async ({ url }) => {
    await (await fetch(`${url}/metrics`)).text();
    expect(asked).toEqual([]);
    await (await fetch(`${url}/api/status`)).text();
    expect(asked).toEqual(["takers"]);
  });
});

it("a daemon that was lost and came back is told no more, and one that is silent is not called lost", async () => {
  const lost = { isAlive: false, endedAt: SINCE, endedAs: "lost" } as const;
  const wordsOfDaemons = async (...workers: readonly WorkerView[]) => {
    const status = await statusOf({ attention: async () => QUIET, workers: async () => workers });
    return partIn(status, "daemons");
  };
  const north = worker(2, "north", {});
  expect(await wordsOfDaemons(worker(1, "north", lost), north)).toMatchObject({
    state: "up",
    words: "1 works",
  });
  expect(
    await wordsOfDaemons(north, worker(3, "south", lost), worker(4, "west", { isAlive: false })),
  ).toMatchObject({
    state: "waits",
    words: "1 works, south on lab is lost, its work was taken over, west is silent",
  });
});

it.each(["act", "wait"] as const)(
  "what is down (%s) comes before the orders that wait for a person",
  async (level) => {
    const { attention, parts } = await statusOf({
      own: () => [condition("serviceUnreachable", "", OUT, { level })],
      attention: async () => ({ ...QUIET, orders: PARKED }),
      counts: async () => countsOf({ parked: 2 }),
    });
    expect(parts.map(({ name, state }) => [name, state]).slice(0, 2)).toEqual([
      ["storage service", "down"],
      ["intake", "up"],
    ]);
    expect(attention.map(({ alerts: [first] }) => first?.kind)).toEqual([
      "serviceUnreachable",
      "ordersParked",
      "ordersParked",
    ]);
  },
);

it("each page says above all else what is down, and the overview has parked orders in a table", () =>
  withPages(
    async ({ operator }) => {
      for (const path of ["/", "/orders", "/workers"]) {
        const page = wordsOf(await operator.open(path));
        expect(page, path).toContain(`✗ storage service: ${OUT}`);
      }
      const overview = await operator.open("/");
      expect(wordsOf(overview)).toMatch(
        /Orders that wait for a person reason orders oldest who sees to it what to do .*SUBJECT_UNKNOWN\); 2 later orders of the same subjects wait for that 1 .*CONTAINER_UNKNOWN/,
      );
      expect(overview).toContain('href="/orders/o1"');
      expect(wordsOf(overview)).not.toContain("order waits for a person");
    },
    { deps: { ...OUTAGE, attention: async () => ({ ...QUIET, orders: PARKED }) } },
  ));

it("the overview says an outage once, and what to do about it, and that nobody is needed only where that is so", () => {
  const since = SINCE.toISOString();
  const text = "10.0.0.5:2576: nothing listens there";
  const waiting = {
    connector: "ward",
    state: "pending",
    deliveryId: "d4",
    count: 3,
    since: SINCE,
    text,
  } as const;
  const [parked] = PARKED;
  return withPages(
    async ({ operator }) => {
      const page = wordsOf(await operator.open("/"));
      for (const words of [OUT, text, "by kim: they move"]) expect(page.split(words), words).toHaveLength(2);
      const [, list = ""] = page.split("Overview");
      expect(list).toMatch(
        /lab of ward Seen to by .* queue submit Seen to by .* goes on by itself: storage service cryobridge check/,
      );
      expect(page).not.toContain("Nothing needs a person");
    },
    {
      deps: {
        own: () => [
          condition("serviceUnreachable", "", OUT, { level: "wait", since }),
          ...labConditions("ward", AWAY, SINCE.getTime()),
        ],
        attention: async () => ({
          ...QUIET,
          orders: parked ? [parked] : [],
          pausedQueues: [{ queue: "submit", actor: "kim", since: SINCE, reason: "they move" }],
          deliveries: [{ ...waiting, code: "MLLP_UNREACHABLE" }],
        }),
      },
    },
  );
});

it("the overview doesn't say that nobody is needed above the table of parked orders", () =>
  withPages(
    async ({ operator }) => {
      expect(wordsOf(await operator.open("/"))).not.toContain("Nothing needs a person");
    },
    { deps: { attention: async () => ({ ...QUIET, orders: PARKED }) } },
  ));

it("what is to be done about a part is said once, at its most urgent", () => {
  const of = (level: Attention["level"]): Attention => ({
    ...{ level, what: "it is away", since: null, hint: "Start it.", command: null, part: "lab of ward" },
    ...{ who: "it", alerts: [] },
  });
  expect(sayOnce([of("act"), of("wait")]).ofParts.map(({ level }) => level)).toEqual(["act"]);
});
