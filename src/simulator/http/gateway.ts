import { STATUS_CODES } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../core/clock.ts";
import { type Behaviour, changed } from "../behaviour.ts";
import { drawMs, type Random, type Spread } from "../chance.ts";
import type { Fault, FaultBook } from "../faults.ts";
import type { Settings } from "../options.ts";
import type { TallyKeeper } from "../tally.ts";
import type { Credentials } from "./authorization.ts";
import { type Answer, type Call, isExternalPath, type Route } from "./exchange.ts";
import { type EncodedBody, encodeRefusal, htmlPage, Refusal } from "./refusal.ts";

export interface GatewayParts {
  /** By method and path: `GET /api/subjects/:id`. */
  readonly routes: ReadonlyMap<string, Route>;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Credentials;
  readonly limit: CallLimit;
  readonly faults: FaultBook;
  readonly tally: TallyKeeper;
  /** Aborted when the simulator stops listening: calls that wait are given up. */
  readonly closing: AbortSignal;
}

/**
 * Takes one call through authentication, its operation and the faults that meet it. `routeName` is undefined for a
 * path that the service doesn't have.
 */
export async function serve(
  routeName: string | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
  parts: GatewayParts,
): Promise<FastifyReply> {
  const { faults, tally } = parts;
  const name = routeName ?? "(unknown)";
  const url = new URL(request.url, "http://simulator");
  const fault = faults.meet(request.method, url.pathname);
  const behaviour = changed(parts.settings.behaviour, fault.behave);
  const call: Call = {
    params: request.params as Record<string, string>,
    query: url.searchParams,
    headers: request.headers,
    text: typeof request.body === "string" ? request.body : "",
    behaviour,
  };
  const isGone = () => request.raw.socket.destroyed;
  const route = routeName === undefined ? undefined : parts.routes.get(routeName);
  tally.countReceived(name);
  if (route?.names !== undefined) tally.countAbout(name, route.names, Number(call.params.id));

  try {
    await wait(fault.executeAfterMs, parts);
    if (fault.before) return abandon(fault.before, request, reply);
    const isDone = fault.status === undefined || fault.executed === true || fault.status < 300;
    const honest = isDone ? execute(route, call, fault, parts) : statusAnswer(fault.status ?? 500, call);
    await wait(fault.answerAfterMs, parts);
    if (fault.after) return abandon(fault.after, request, reply);
    const answer = spoil(honest, fault, call);
    if (isGone()) return reply.hijack();
    tally.countAnswered(name, answer.status);
    if (fault.cutAfterBytes !== undefined) return cut(answer, fault.cutAfterBytes, request, reply);
    return send(answer, reply);
  } catch (error) {
    if (!parts.closing.aborted) throw error;
    return abandon("drop", request, reply);
  }
}

/** Checks the credential and the limit, and runs the operation; a refusal becomes an answer. */
function execute(
  route: Route | undefined,
  call: Call,
  fault: Fault,
  { credentials, limit }: Pick<GatewayParts, "credentials" | "limit">,
): Answer {
  try {
    if (!route) throw new Refusal(404, "NOT_FOUND", "no such path");
    if (route.access === "open") return route.handle(call);
    const token = /^Bearer\s+(\S+)$/i.exec(String(call.headers.authorization ?? ""))?.[1];
    if (token !== undefined && fault.revokeToken) credentials.revoke(token);
    const kind =
      call.behaviour.credentials === "either"
        ? undefined
        : isExternalPath(route.path)
          ? "apiToken"
          : "accessToken";
    const caller = token === undefined ? undefined : credentials.findCaller(token, kind);
    if (!caller) throw new Refusal(401, "UNAUTHORIZED", "the token is missing, unknown, expired or revoked");
    const waitSeconds = limit.take(caller.clientId, call.behaviour.callsPerMinute);
    if (waitSeconds !== undefined) {
      return { ...statusAnswer(429, call), headers: { "retry-after": String(waitSeconds) } };
    }
    return route.handle({ ...call, caller });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const challenge = { "www-authenticate": 'Bearer realm="simulator", error="invalid_token"' };
    return {
      status: error.status,
      headers: error.status === 401 ? challenge : {},
      body: encodeRefusal(error, call.behaviour),
    };
  }
}

/** Answers with an error status, in the service's own shape of errors. */
function statusAnswer(status: number, call: Call): Answer {
  const code = status === 429 ? "RATE_LIMITED" : status >= 500 ? "UNAVAILABLE" : "REFUSED";
  const refusal = new Refusal(status, code, STATUS_CODES[status] ?? "error");
  return { status, body: encodeRefusal(refusal, call.behaviour) };
}

function spoil(honest: Answer, fault: Fault, call: Call): Answer {
  const { status } = fault;
  let answer = honest;
  if (status !== undefined) answer = status < 300 ? { ...honest, status } : statusAnswer(status, call);
  const retryAfter = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  return { ...answer, headers: { ...answer.headers, ...retryAfter }, body: spoilBody(answer, fault) };
}

function spoilBody({ status, body }: Answer, fault: Fault): EncodedBody {
  switch (fault.body) {
    case "empty":
      return { contentType: body.contentType, text: "" };
    case "html":
      return htmlPage(status, STATUS_CODES[status] ?? "answer");
    case "truncated":
      return { ...body, text: body.text.slice(0, Math.floor(body.text.length / 2)) };
    case "without-ids": {
      const isMember = (key: string, value: unknown) => (key === "id" ? undefined : value);
      return { ...body, text: body.text === "" ? "" : JSON.stringify(JSON.parse(body.text, isMember)) };
    }
    case undefined:
      return body;
  }
}

async function wait(spread: Spread | undefined, { clock, random, closing }: GatewayParts): Promise<void> {
  if (spread !== undefined) await clock.sleep(drawMs(spread, random), closing);
}

/** Leaves a call without an answer: the connection is reset, ended, or stays open and silent. */
function abandon(how: "drop" | "close" | "hang", request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  if (how === "drop") request.raw.socket.resetAndDestroy();
  if (how === "close") request.raw.socket.end();
  return reply;
}

/** Sends the first bytes of an answer, head included, and ends the connection. */
function cut(answer: Answer, bytes: number, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.hijack();
  const body = Buffer.from(answer.body.text);
  const headers = {
    "content-type": answer.body.contentType,
    ...answer.headers,
    "content-length": String(body.length),
  };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
  const reason = STATUS_CODES[answer.status] ?? "";
  const head = Buffer.from(`HTTP/1.1 ${answer.status} ${reason}\r\n${lines.join("")}\r\n`);
  const { socket } = request.raw;
  socket.end(Buffer.concat([head, body]).subarray(0, bytes), () => socket.destroy());
  return reply;
}

function send(answer: Answer, reply: FastifyReply): FastifyReply {
  reply.code(answer.status).headers(answer.headers ?? {});
  reply.header("content-type", answer.body.contentType);
  return reply.send(answer.body.text);
}

const WINDOW_MS = 60_000;

/** How often each client may call, counted over the last minute. A refused call is not counted. */
export class CallLimit {
  readonly #clock: Clock;
  readonly #takenAt = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call; gives how many seconds the client has to wait instead when it has called too often. */
  take(clientId: string, perMinute: Behaviour["callsPerMinute"]): number | undefined {
    if (perMinute === "unlimited") return undefined;
    const nowMs = this.#clock.monotonic();
    const takenAt = (this.#takenAt.get(clientId) ?? []).filter((at) => at > nowMs - WINDOW_MS);
    this.#takenAt.set(clientId, takenAt);
    const oldest = takenAt[takenAt.length - perMinute];
    if (oldest !== undefined) return Math.ceil((oldest + WINDOW_MS - nowMs) / 1_000);
    takenAt.push(nowMs);
    return undefined;
  }
}
