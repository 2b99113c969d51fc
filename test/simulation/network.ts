import { readHeaders } from "../../src/service/http/answer.ts";
import type { Wire, WireResult } from "../../src/service/http/wire.ts";
import type { Reply, SimulatedService } from "./service.ts";
import type { Actor, World } from "./world.ts";

/** What the network, or a gateway before the service, does with a call. */
export const CALL_FATES = [
  /** No connection: nothing left. */
  "refused",
  /** The connection breaks before the service gets it, or after it has acted. */
  "reset before",
  "reset after",
  /** No answer comes in time, and the service didn't get it, or acted. */
  "silent before",
  "silent after",
  /** The service gets it long after the caller has given up. */
  "late",
  /** A gateway answers by itself, and has not passed it on, or has. */
  "502 before",
  "502 after",
  "503 after",
  "429 before",
  "429 after",
  "401 before",
  "401 after",
  /** The service acts, and its answer is damaged on the way. */
  "page after",
  "empty after",
  "cut after",
  /** The network has the service act twice. */
  "doubled",
  /** It takes long, but in time. */
  "slow",
] as const;
export type CallFate = (typeof CALL_FATES)[number];

/** Which calls a fault is for. */
export const CALL_KINDS = ["create", "subject", "cancel", "read", "token"] as const;
export type CallKind = (typeof CALL_KINDS)[number];

export interface NetworkSettings {
  readonly timeoutMs: number;
  /** After how long the service gets a late call, ms: less than when a lost call is given up. */
  readonly lateMs: number;
  /** Given for each call, in turn. */
  readonly fateOf: (kind: CallKind, nth: number, daemon: string) => CallFate | undefined;
}

/** The way between the daemons and the service. */
export class SimulatedNetwork {
  /** By when everything that left has arrived or never will. */
  quietAt = 0;
  readonly fatesMet = new Map<string, number>();
  /** When each call to create was made, ms, also where it did not get out. */
  readonly createdAt = new Map<number, number>();
  readonly #world: World;
  readonly #service: SimulatedService;
  readonly #settings: NetworkSettings;
  readonly #way: Actor = { name: "network", state: "up" };
  readonly #counts = new Map<CallKind, number>();
  #calls = 0;

  constructor(world: World, service: SimulatedService, settings: NetworkSettings) {
    this.#world = world;
    this.#service = service;
    this.#settings = settings;
  }

  wireOf(actor: Actor): Wire {
    return {
      exchange: (request, signal) => this.#exchange(actor, request, signal),
      close: async () => undefined,
    };
  }

  #exchange(
    actor: Actor,
    request: Parameters<Wire["exchange"]>[0],
    signal: AbortSignal,
  ): Promise<WireResult> {
    const world = this.#world;
    const { timeoutMs, lateMs, fateOf } = this.#settings;
    const { method, url, headers, body } = request;
    const kind = kindOf(method, url.pathname);
    const nth = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, nth);
    this.#calls += 1;
    const call = this.#calls;
    if (kind === "create") this.createdAt.set(call, world.now);
    const fate = fateOf(kind, nth, actor.name);
    if (fate !== undefined)
      this.fatesMet.set(`${kind}: ${fate}`, (this.fatesMet.get(`${kind}: ${fate}`) ?? 0) + 1);
    if (fate !== undefined || kind !== "read")
      world.say(actor.name, `${method} ${url.pathname}${fate === undefined ? "" : ` [${fate}]`}`);
    const { authorization } = headers as { authorization?: string };
    const arrive = (isCopy: boolean): Reply =>
      this.#service.act({
        ...{ method, path: url.pathname, query: url.searchParams, call, isCopy },
        body:
          typeof body === "string" && headers["content-type"] === "application/json"
            ? JSON.parse(body)
            : undefined,
        token: authorization?.replace("Bearer ", ""),
      });
    return new Promise((resolve) => {
      let cancel: () => void = () => undefined;
      const end = (result: WireResult) => {
        signal.removeEventListener("abort", onStop);
        cancel();
        resolve(result);
      };
      const broken = (why: "network" | "timeout" | "stopped", isSent: boolean, code: string) => () =>
        end({ kind: "broken", isSent, why, error: Object.assign(new Error(why), { code }) });
      const onStop = broken("stopped", true, "ABORT_ERR");
      signal.addEventListener("abort", onStop, { once: true });
      cancel = world.later(actor, timeoutMs, broken("timeout", true, "TIMEOUT"));
      const answer = (
        reply: Reply,
        extra: Record<string, string> = {},
        text = JSON.stringify(reply.body),
      ) => {
        const raw = {
          "content-type": "application/json",
          date: new Date(this.#service.now).toUTCString(),
          ...extra,
        };
        world.later(actor, world.between(1, 30), () =>
          end({ kind: "answer", status: reply.status, headers: readHeaders(raw), body: Buffer.from(text) }),
        );
      };
      const page = (status: number, extra: Record<string, string> = {}) =>
        answer(
          { status, body: undefined },
          { "content-type": "text/html", ...extra },
          "<html>gateway</html>",
        );
      const reset = () => world.later(actor, 1, broken("network", true, "ECONNRESET"));
      if (fate === "refused") {
        world.later(actor, 1, broken("network", false, "ECONNREFUSED"));
        return;
      }
      const onTheWayMs = fate === "late" ? lateMs : fate === "slow" ? timeoutMs - 100 : world.between(1, 30);
      this.quietAt = Math.max(this.quietAt, world.now + onTheWayMs + 1);
      const [what, when] = fate?.split(" ") ?? [];
      world.later(this.#way, onTheWayMs, () => {
        const reply = when === "before" ? undefined : arrive(false);
        if (fate === "doubled") arrive(true);
        switch (what) {
          case "reset":
            return void reset();
          case "silent":
          case "late":
            return;
          case "502":
            return page(502);
          case "503":
            return page(503);
          case "429":
            return page(429, { "retry-after": "2" });
          case "401":
            return answer({ status: 401, body: { error: { code: "UNAUTHORIZED", message: "token" } } });
          case "page":
            return page(200);
          case "empty":
            return answer({ status: 200, body: undefined }, {}, "");
          case "cut":
            return answer(reply as Reply, {}, JSON.stringify(reply?.body).slice(0, 20));
          default:
            return answer(reply as Reply);
        }
      });
    });
  }
}

function kindOf(method: string, path: string): CallKind {
  if (path === "/oauth/token") return "token";
  if (method === "GET") return "read";
  if (path.endsWith("/subjects")) return "subject";
  return path.endsWith("/cancel") ? "cancel" : "create";
}
