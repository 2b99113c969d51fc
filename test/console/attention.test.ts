import { describe, expect, it } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import { condition } from "../../src/core/condition.ts";
import { FAILURES, type FailureCode } from "../../src/core/failures.ts";
import type { LedgerAttention } from "../../src/ledger/operator/still-orders.ts";
import type { WorkerView } from "../../src/ledger/workers/roster.ts";
import type { Status } from "../../src/standing/status-document.ts";
import { countsOf, withConsole } from "./console-fixture.ts";

const QUIET: LedgerAttention = {
  orders: [],
  deliveries: [],
  pausedQueues: [],
  alertPlaces: [],
  refusals: [],
};
const SINCE = new Date("2026-11-22T08:00:00Z");

async function attentionOf(deps: Partial<ConsoleDeps>): Promise<Status["attention"]> {
  let found: Status["attention"] = [];
  await withConsole({ deps }, async ({ url }) => {
    found = ((await (await fetch(`${url}/api/status`)).json()) as Status).attention;
  });
  return found;
}

const full = (host: string, leftMb: number) =>
  condition("diskFilling", `/srv on ${host}`, `${leftMb} MB are left`, { hint: "Free space on it." });

const worker = (
  id: number,
  conditions: WorkerView["conditions"],
  own: Partial<WorkerView> = {},
): WorkerView => ({
  ...{ id, name: `lab-${id}`, host: `m${id}`, pid: 1, version: "1", roles: ["worker"], connectors: [] },
  ...{ startedAt: SINCE, heartbeatAt: SINCE, silentMs: 0, isAlive: true, isLeader: false, reload: 0 },
  ...{ configuration: null, drainAt: null, endedAt: null, endedAs: null, inHand: 0, conditions },
  ...own,
});

const LOST = { isAlive: false, endedAt: SINCE, endedAs: "lost" } as const;

describe("what somebody should know", () => {
  it("is nothing when all is well", async () => {
    expect(await attentionOf({ attention: async () => QUIET })).toEqual([]);
  });

  it("names a lab receiver that is down, and tells that results go on by themselves", async () => {
    const text = "127.0.0.1:2576: ECONNREFUSED: nothing listens there";
    const since = new Date(Date.now() - 60_000);
    const down = {
      connector: "lims",
      state: "pending",
      deliveryId: "d4",
      count: 3,
      since,
      code: "MLLP_UNREACHABLE",
      text,
    } as const;
    expect(await attentionOf({ attention: async () => ({ ...QUIET, deliveries: [down] }) })).toEqual([
      {
        level: "wait",
        what: `the lab doesn't have 3 results through lims: ${text} (MLLP_UNREACHABLE); tried again by itself; later results of the same orders wait`,
        since: since.toISOString(),
        hint: expect.stringContaining("Check that the lab system listens"),
        command: "cryobridge queue",
        ...{ who: null, part: "lab of lims" },
        alerts: [{ kind: "resultsNotTaken", about: "lims", text: expect.stringContaining("ECONNREFUSED") }],
      },
    ]);
  });

  it("needs a person for a lab receiver that has been down for more than an hour", async () => {
    const since = new Date(Date.now() - 61 * 60_000);
    const down = {
      connector: "lims",
      state: "pending",
      deliveryId: "d4",
      count: 3,
      since,
      code: "X",
      text: "x",
    } as const;
    const found = await attentionOf({ attention: async () => ({ ...QUIET, deliveries: [down] }) });
    expect(found.map(({ level }) => level)).toEqual(["act"]);
  });

  it("doesn't say that results are tried again through a connector that is configured no more", async () => {
    const failed = {
      state: "pending",
      deliveryId: "d4",
      count: 3,
      since: new Date(),
      code: "X",
      text: "x",
    } as const;
    const rest = { results: 3, orders: 0, messages: 0, since: SINCE, movedTo: undefined };
    const found = await attentionOf({
      attention: async () => ({
        ...QUIET,
        deliveries: [
          { ...failed, connector: "gone" },
          { ...failed, connector: "lims" },
        ],
      }),
      orphaned: async () => [{ ...rest, connector: "gone" }],
    });
    expect(found.map(({ level, what }) => [level, what])).toEqual([
      ["act", expect.stringContaining("the configuration names no connector gone")],
      ["wait", expect.stringContaining("through lims: x (X); tried again by itself")],
    ]);
  });

  it("has the hint of the failure that a reason comes of", async () => {
    const own = () => [
      condition("daemonTrouble", "", "intake is waiting: the disk", { code: "FILE_SYSTEM_ERROR" }),
    ];
    const [found] = await attentionOf({ own });
    expect(found).toMatchObject({ level: "act", hint: expect.stringContaining("Free space") });
  });

  it("says what the ledger did not answer, rather than that nobody is needed", async () => {
    const late = () => Promise.reject(new Error("late"));
    const found = await attentionOf({ counts: late, attention: late });
    expect(found).toMatchObject([
      {
        level: "act",
        what: "the ledger did not answer in time, or at all: how many orders and results wait, which orders and results stand still, and which queues are paused; more may be wrong than stands here",
      },
    ]);
  });

  it("says once that the ledger is away", async () => {
    const gone = () => Promise.reject(new Error("gone"));
    const own = () => [
      condition("daemonTrouble", "", "the ledger is away (LEDGER_UNAVAILABLE)", { stopsIntake: true }),
    ];
    const found = await attentionOf({ own, counts: gone, attention: gone });
    expect(found.map(({ what }) => what)).toEqual(["the ledger is away (LEDGER_UNAVAILABLE)"]);
  });

  it("says what a paused queue holds up, why it was paused, and how it is let go on", async () => {
    const paused = { queue: "submit", since: SINCE, actor: "kim", reason: "they move" };
    const [found] = await attentionOf({ attention: async () => ({ ...QUIET, pausedQueues: [paused] }) });
    expect(found).toMatchObject({
      level: "act",
      what: "the queue submit was paused by kim: orders are taken, and nothing is sent to the service (the reason given: they move)",
      // It may name a patient, and goes nowhere.
      alerts: [
        {
          ...{ kind: "queuePaused", about: "submit" },
          text: "the queue submit was paused by kim: orders are taken, and nothing is sent to the service",
        },
      ],
      command: "cryobridge queue resume submit",
    });
  });

  it("has a line for each reason why orders are parked, with a command that lists these orders", async () => {
    const still = { kind: "parked", orderId: "o17", orderIds: [], since: SINCE, text: "x" } as const;
    const attention = async () => ({
      ...QUIET,
      orders: [
        { ...still, count: 70, code: "SUBJECT_INCOMPLETE" },
        { ...still, count: 2, code: "CONFIG_INVALID", orderIds: ["o17", "o18"] },
      ],
    });
    const counts = async () => ({ ...countsOf({ parked: 72 }), oldestSecondsByState: { parked: 60 } });
    const found = await attentionOf({ counts, attention });
    expect(found.map(({ what, command }) => [what, command])).toEqual([
      [
        "70 orders wait for a person: the subject is not registered, and the order lacks its name or birth date (SUBJECT_INCOMPLETE)",
        "cryobridge orders list --state parked --failure SUBJECT_INCOMPLETE",
      ],
      [
        "2 orders wait for a person (o17, o18): the configuration, a profile or a file of the simulator has mistakes (CONFIG_INVALID)",
        "cryobridge orders list --state parked --failure CONFIG_INVALID",
      ],
    ]);
  });

  it("has the hint of the code that orders are parked with", async () => {
    const orders = [
      {
        kind: "parked",
        orderId: "o17",
        orderIds: ["o17", "o18"],
        since: SINCE,
        text: "x",
        count: 2,
        code: "SUBJECT_INCOMPLETE",
      } as const,
    ];
    const counts = async () => countsOf({ parked: 2 });
    const [found] = await attentionOf({ counts, attention: async () => ({ ...QUIET, orders }) });
    expect(found?.hint).toBe(FAILURES.SUBJECT_INCOMPLETE.hint);
  });

  it("names the one that stands still, in the command and in the hint", async () => {
    const one = { count: 1, since: SINCE, text: "x" };
    const attention = async (): Promise<LedgerAttention> => ({
      ...QUIET,
      orders: [{ ...one, kind: "parked", orderId: "o17", orderIds: ["o17"], code: "SUBJECT_INCOMPLETE" }],
      deliveries: [
        { ...one, state: "parked", deliveryId: "d4", connector: "lims", code: "MLLP_RESULT_REFUSED" },
      ],
    });
    const found = await attentionOf({ counts: async () => countsOf({ parked: 1 }), attention });
    expect(found.map(({ command, hint }) => [command, hint])).toEqual([
      ["cryobridge orders show o17", expect.stringContaining("`cryobridge orders retry o17`")],
      ["cryobridge results show d4", expect.stringContaining("`cryobridge queue retry d4`")],
    ]);
  });

  it("names orders that go on by themselves apart from those that need a person", async () => {
    const still = { count: 2, orderId: "o17", orderIds: ["o17", "o18"], since: new Date() } as const;
    const found = await attentionOf({
      attention: async () => ({
        ...QUIET,
        orders: [
          { ...still, kind: "retrying", code: "SERVICE_UNREACHABLE", text: "connection refused" },
          { ...still, kind: "reconciling", code: "SERVICE_NO_ANSWER", text: "timeout" },
          { ...still, kind: "on_hold", code: undefined, text: undefined },
          { ...still, kind: "missing", code: "REQUEST_GONE", text: "o17, o18" },
        ],
      }),
    });
    expect(found.map(({ level, what }) => `${level} ${what}`)).toEqual([
      "act the service does not know the requests of 2 orders any more, or does not let them be read: o17, o18 (REQUEST_GONE)",
      "wait 2 orders are tried again by themselves (o17, o18): connection refused (SERVICE_UNREACHABLE)",
      "wait no sure answer came to the call for 2 orders (o17, o18); the service is searched for what the call did before anything is sent again: timeout (SERVICE_NO_ANSWER)",
      "wait 2 orders (o17, o18) are on hold by the lab (ORC-1 HD), until the lab releases or cancels them",
    ]);
  });

  it("names a place that does not take alerts, and sends no alert of that", async () => {
    const failing = {
      place: "team",
      count: 2,
      since: SINCE,
      failure: "example.org can't be reached: timeout",
    };
    const [found] = await attentionOf({ attention: async () => ({ ...QUIET, alertPlaces: [failing] }) });
    expect(found).toMatchObject({
      level: "act",
      what: "team does not take 2 messages about alerts: example.org can't be reached: timeout",
      alerts: [],
    });
  });

  it("asks for a person where orders go on failing for more than an hour, and at once where nothing passes by itself", async () => {
    const now = Date.now();
    const still = {
      kind: "retrying",
      orderId: "o17",
      orderIds: ["o17", "o18"],
      text: "refused",
      count: 2,
    } as const;
    const levelOf = async (since: number, code: FailureCode = "SERVICE_UNREACHABLE") => {
      const orders = [{ ...still, code, since: new Date(since) }];
      return (await attentionOf({ attention: async () => ({ ...QUIET, orders }) }))[0]?.level;
    };
    expect(await levelOf(now - 50 * 60_000)).toBe("wait");
    expect(await levelOf(now - 61 * 60_000)).toBe("act");
    expect(await levelOf(now, "SERVICE_LIST_UNPAGED")).toBe("act");
  });

  it("begins with what needs a person, and ends with what only is worth a look", async () => {
    const late = {
      connector: "lims",
      state: "pending",
      deliveryId: "d4",
      count: 1,
      since: new Date(),
      code: "X",
      text: "x",
    } as const;
    const found = await attentionOf({
      attention: async () => ({
        ...QUIET,
        deliveries: [late],
        pausedQueues: [{ queue: "track", since: SINCE, actor: "kim", reason: undefined }],
        refusals: [
          { kind: "message", connector: "bench", count: 1, latestAt: SINCE },
          { kind: "file", connector: "bench", count: 2, latestAt: SINCE },
        ],
      }),
    });
    expect(found.map(({ level }) => level)).toEqual(["act", "wait", "look", "look"]);
    expect(found[3]).toMatchObject({
      what: "2 files through bench were refused as a whole within the last day, the latest at 2026-11-22 08:00 UTC",
      hint: expect.stringContaining("The folder error has each with its report"),
    });
    expect(found[2]?.what).toBe(
      "1 message through bench was refused within the last day, the latest at 2026-11-22 08:00 UTC",
    );
  });

  it("has one line for the refused messages of a connector that refuses too many of the last hour's", async () => {
    const text = "7 of the 22 messages of the last hour through lims were refused";
    const found = await attentionOf({
      limits: async () => [condition("messagesRefused", "lims", text)],
      attention: async () => ({
        ...QUIET,
        refusals: [
          { kind: "message", connector: "bench", count: 1, latestAt: SINCE },
          { kind: "message", connector: "lims", count: 7, latestAt: SINCE },
          { kind: "file", connector: "lims", count: 2, latestAt: SINCE },
        ],
      }),
    });
    expect(found.map(({ what, alerts }) => [what.replace(/ refused .*/, ""), alerts.length])).toEqual([
      [text, 1],
      ["1 message through bench was", 0],
      ["2 files through lims were", 0],
    ]);
    expect(found[0]?.hint).toContain("`cryobridge messages replay ID`");
  });

  it("has all codes that messages wait for in one line, and what waits behind those messages as going on by itself", async () => {
    const wait = { connector: "bench", messages: 2, since: SINCE } as const;
    const found = await attentionOf({
      waiting: async () => [
        { ...wait, kind: "facility", code: "WEST", hint: "Add WEST." },
        { ...wait, kind: "facility", code: "WEST", connector: "lims", messages: 1, hint: "Add WEST." },
        { ...wait, kind: "operation", code: "FRZ", hint: "Add FRZ." },
        { ...wait, kind: "earlier", code: "WEST" },
      ],
    });
    expect(found.map(({ level, what }) => [level, what])).toEqual([
      [
        "act",
        "messages wait for codes that no table knows: facility WEST (2 messages through bench, 1 message through lims), operation FRZ (2 messages through bench)",
      ],
      [
        "wait",
        "2 messages through bench wait for an earlier message of the same subject or order, which waits until code WEST is added; goes on with it",
      ],
    ]);
    expect(found[0]?.hint).toContain("`cryobridge messages waiting` names the place");
  });

  it("has the hint of the one code that messages wait for", async () => {
    const wait = { connector: "bench", messages: 2, since: SINCE } as const;
    const [found] = await attentionOf({
      waiting: async () => [{ ...wait, kind: "operation", code: "FRZ", hint: "Add FRZ to profile own." }],
    });
    expect(found?.hint).toBe("Add FRZ to profile own.");
  });

  it("names what other daemons say of themselves, and once what two daemons of a machine say, or what is true of the service", async () => {
    const away = { kind: "serviceUnreachable", about: "", text: "out of reach", level: "wait" } as const;
    const found = await attentionOf({
      attention: async () => QUIET,
      limits: async () => [full("m1", 9)],
      workers: async () => [
        ...[worker(1, []), worker(2, [full("m2", 9), away]), worker(3, [full("m2", 8), away])],
        ...[worker(4, [full("m1", 8), full("m4", 9)])],
      ],
    });
    expect(found.map(({ level, what, alerts }) => [level, what, alerts[0]?.about])).toEqual([
      ["act", "9 MB are left", "/srv on m1"],
      ["act", "daemon lab-2 (w2) on m2: 9 MB are left", "/srv on m2"],
      ["act", "daemon lab-4 (w4) on m4: 9 MB are left", "/srv on m4"],
      ["wait", "daemon lab-2 (w2) on m2: out of reach", ""],
    ]);
  });

  it("keeps what troubled a machine whose daemon died, until another daemon of the machine works", async () => {
    const service = { kind: "serviceUnreachable", about: "", text: "out of reach" } as const;
    const lost = worker(2, [full("m2", 9), service], LOST);
    const whatOf = async (...workers: WorkerView[]) =>
      (await attentionOf({ attention: async () => QUIET, workers: async () => workers })).flatMap(
        ({ alerts }) => alerts.map(({ kind, about }) => `${kind} ${about}`),
      );
    const dead = "workerDead lab-2 (worker)";
    const later = new Date(SINCE.getTime() + 60_000);
    expect(await whatOf(worker(1, []), lost)).toEqual(["diskFilling /srv on m2", dead]);
    expect(await whatOf(lost, worker(3, [], { host: "m2" }))).toEqual([dead]);
    // What it said is old news also once the next one of the machine is lost, too.
    const next = worker(3, [], { ...LOST, host: "m2", name: "lab-2", startedAt: later, heartbeatAt: later });
    expect(await whatOf(next, lost)).toEqual([dead, dead]);
  });

  it("misses a daemon that is lost until one of its name and roles works", async () => {
    const lost = worker(2, [], { ...LOST, name: "lab", roles: ["intake"] });
    const missed = async (...workers: WorkerView[]) =>
      (await attentionOf({ attention: async () => QUIET, workers: async () => workers })).map(
        ({ what }) => what,
      );
    expect(await missed(lost, worker(3, [], { name: "lab" }))).toEqual([
      "daemon lab (w2) on m2 was lost; its work was taken over",
    ]);
    expect(await missed(lost, worker(3, [], { name: "lab", roles: ["intake"] }))).toEqual([]);
  });

  it("says once what this daemon and another one say of a drop folder that they share", async () => {
    const files = { connector: "bench", reason: "marker", count: 2, since: SINCE, marker: ".ok" } as const;
    const said = { kind: "filesUntaken", about: "bench marker", text: "2 files wait" } as const;
    const found = await attentionOf({
      attention: async () => QUIET,
      untaken: () => [files],
      workers: async () => [worker(2, [said]), worker(3, [{ ...said, about: "bench name" }])],
    });
    expect(found.map(({ alerts }) => alerts[0]?.about).sort()).toEqual(["bench marker", "bench name"]);
  });
});
