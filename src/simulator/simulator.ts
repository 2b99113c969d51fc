import type { AddressInfo } from "node:net";
import Fastify, { type FastifyError, type FastifyInstance } from "fastify";
import { findPath, type GivenPaths } from "../core/service-catalogue.ts";
import { createRandom } from "./chance.ts";
import { Control } from "./control.ts";
import { controlRoutes } from "./control-routes.ts";
import { openApiDocument } from "./description.ts";
import { FaultBook } from "./faults.ts";
import { Credentials, tokenEndpoint } from "./http/authorization.ts";
import { cancelCall } from "./http/cancel-call.ts";
import type { Route } from "./http/exchange.ts";
import { externalSurface } from "./http/external-surface.ts";
import { CallLimit, type GatewayParts, serve } from "./http/gateway.ts";
import { encodeRefusal, Refusal } from "./http/refusal.ts";
import { requestSurface } from "./http/request-surface.ts";
import { EDITION_PARTS, type Edition, resolveOptions, type SimulatorOptions } from "./options.ts";
import { type Tally, TallyKeeper } from "./tally.ts";
import { Lifecycle } from "./world/lifecycle.ts";
import { Schedule } from "./world/schedule.ts";
import { type SimulatorEvent, State } from "./world/state.ts";

/** A running Sample Storage Integration Service that exists in memory only. */
export interface Simulator {
  /** `http://127.0.0.1:4711`. Throws while it doesn't listen. */
  readonly url: string;
  /**
   * Begins to listen and starts its clockwork; gives the URL. Port 0 takes any free one. Others than
   * this machine reach it only where `host` says so. After `close` it may listen
   * again, on the same port, with everything it knew: that is how a test takes the service down and up.
   */
  listen(port?: number, host?: string): Promise<string>;
  /** Cuts every connection, stops listening and stops the clockwork; what it knows stays. */
  close(): Promise<void>;
  /** What came in and what was done, so far. */
  tally(): Tally;
  /** Staff, devices, faults and settings. */
  readonly control: Control;
}

/** Bodies beyond this are refused with 413. */
const LARGEST_BODY_BYTES = 4_194_304;

/**
 * Makes a simulator, and has it listen when `port` is given. Throws a Refusal for a container whose subject is not
 * there.
 */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { clock, seed, settings, organizations, ...resolved } = resolveOptions(options);
  const listeners = new Set<(event: SimulatorEvent) => void>();
  // Separate sequences, so that a fault rule with a probability doesn't change which tokens are given out.
  const random = (sequence: number) => createRandom(seed + sequence);
  const state: State = new State({
    clock,
    firstId: resolved.firstId,
    organizations,
    onEvent: (event) => {
      lifecycle.observe(event);
      for (const listener of listeners) listener(event);
    },
  });
  const schedule = new Schedule(clock, settings.speed);
  const credentials = new Credentials(organizations, { clock, random: random(1), tokens: resolved.tokens });
  const faults = new FaultBook(random(2), resolved.faults);
  const tally = new TallyKeeper((kind, id) => orderIdsOf(kind, id, state));
  const lifecycle: Lifecycle = new Lifecycle({
    state,
    transitions: () => control,
    schedule,
    settings,
    seed,
  });
  const control = new Control({ state, schedule, lifecycle, credentials, faults, settings, listeners });
  const parts = { state, tally, nowMs: () => clock.monotonic(), random: random(0) };
  const { paths } = EDITION_PARTS[resolved.edition];
  const routes = [
    tokenEndpoint(credentials, resolved.tokens),
    ...[...requestSurface(parts), ...externalSurface(parts)].flatMap((route) => atPath(route, paths)),
    ...resolved.cancelRoutes.map((route) => cancelCall(route, { state, transitions: control, schedule })),
  ];
  for (const subject of resolved.subjects) control.addSubject(subject);
  for (const container of resolved.containers) control.addContainer(container);
  lifecycle.replan();

  let server: { readonly app: FastifyInstance; readonly closing: AbortController } | undefined;
  const simulator: Simulator = {
    control,
    get url() {
      const address = server?.app.server.address() as AddressInfo | null | undefined;
      if (!address) throw new Error("the simulator does not listen");
      return `http://127.0.0.1:${address.port}`;
    },
    listen: async (port = options.port ?? 0, host = "127.0.0.1") => {
      if (server) throw new Error("the simulator listens already");
      const closing = new AbortController();
      const app = buildServer(
        {
          routes: new Map(routes.map((route) => [`${route.method} ${route.path}`, route])),
          settings,
          clock,
          random: random(3),
          credentials,
          limit: new CallLimit(clock),
          faults,
          tally,
          closing: closing.signal,
        },
        resolved.edition,
      );
      controlRoutes(app, control, { tally: simulator.tally, host });
      await app.listen({ port, host });
      server = { app, closing };
      schedule.start();
      return simulator.url;
    },
    close: async () => {
      const closed = server;
      server = undefined;
      closed?.closing.abort(new Error("the simulator is closing"));
      await Promise.all([closed?.app.close(), schedule.stop()]);
    },
    tally: () => tally.read(faults.hits()),
  };
  if (options.port !== undefined) await simulator.listen();
  return simulator;
}

/** An operation where the edition has it; none where it hasn't. */
function atPath(route: Route, paths: GivenPaths): Route[] {
  const path = findPath(paths, route.path.replace(":id", "{id}"));
  return path === undefined ? [] : [{ ...route, path: path.replace("{id}", ":id") }];
}

function orderIdsOf(
  kind: "request" | "procedure" | "container",
  id: number,
  state: State,
): { readonly requestId: number | null; readonly procedureId: number | null } {
  if (kind === "request") return { requestId: id, procedureId: null };
  const procedure = kind === "procedure" ? state.procedures.find(id) : state.lastProcedureOf(id);
  return { requestId: procedure?.requestId ?? null, procedureId: procedure?.id ?? null };
}

/** The HTTP server of the service's own paths. */
function buildServer(gateway: GatewayParts, edition: Edition): FastifyInstance {
  const app = Fastify({
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    bodyLimit: LARGEST_BODY_BYTES,
    // A client that keeps its connections must not find them cut between two calls of one test.
    keepAliveTimeout: 60_000,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    const refusal = new Refusal(status, status === 500 ? "INTERNAL" : "BAD_REQUEST", error.message);
    const { contentType, text } = encodeRefusal(refusal, gateway.settings.behaviour);
    return reply.code(status).header("content-type", contentType).send(text);
  });
  app.setNotFoundHandler((request, reply) => serve(undefined, request, reply, gateway));
  for (const [name, { method, path }] of gateway.routes) {
    app.route({ method, url: path, handler: (request, reply) => serve(name, request, reply, gateway) });
  }
  app.get("/openapi.json", (_request, reply) => reply.send(openApiDocument(edition)));
  return app;
}
