import type { AddressInfo } from "node:net";
import Fastify, { type FastifyError, type FastifyInstance } from "fastify";
import { Control } from "./control.ts";
import { controlRoutes } from "./control-routes.ts";
import { type GatewayParts, serve } from "./gateway.ts";
import { openApiDocument } from "./openapi.ts";
import { initialSettings, resolveOptions, type Settings, type SimulatorOptions } from "./options.ts";
import { pageRoutes } from "./page-routes.ts";
import { createRandom } from "./random.ts";
import { encodeRefusal, Refusal } from "./refusal.ts";
import type { SimulatorEvent } from "./state.ts";
import type { Tally } from "./tally.ts";
import { createWorld, type World } from "./world.ts";

/** A running Sample Storage Integration Service that exists in memory only. */
export interface Simulator {
  /** `http://127.0.0.1:4711`. Throws while it doesn't listen. */
  readonly url: string;
  /**
   * Begins to listen and starts its clockwork; gives the URL. Port 0 takes any free one. After `close` it may listen
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

/** Makes a simulator, and has it listen when `port` is given. */
export async function createSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const resolved = resolveOptions(options);
  const settings: Settings = initialSettings(options);
  const listeners = new Set<(event: SimulatorEvent) => void>();
  const tell = (event: SimulatorEvent) => {
    for (const listener of listeners) listener(event);
  };
  const newWorld = () => createWorld(resolved, settings, options.faults ?? [], tell);
  let world: World = newWorld();
  let server: { readonly app: FastifyInstance; readonly closing: AbortController } | undefined;

  const control = new Control({
    world: () => world,
    settings,
    listeners,
    reset: () => {
      Object.assign(settings, initialSettings(options));
      const isRunning = server !== undefined;
      void world.schedule.stop();
      world = newWorld();
      if (isRunning) world.schedule.start();
    },
  });

  const simulator: Simulator = {
    control,
    get url() {
      const address = server?.app.server.address() as AddressInfo | null | undefined;
      if (!address) throw new Error("the simulator does not listen");
      const host = address.family === "IPv6" ? `[${address.address}]` : address.address;
      return `http://${host}:${address.port}`;
    },
    listen: async (port = options.port ?? 0, host = resolved.host) => {
      if (server) throw new Error("the simulator listens already");
      const closing = new AbortController();
      const app = buildServer(
        {
          world: () => world,
          settings,
          clock: resolved.clock,
          random: createRandom(resolved.seed + 3),
          closing: closing.signal,
        },
        {
          control,
          tally: () => simulator.tally(),
          isOpen: resolved.openControl,
        },
      );
      await app.listen({ port, host });
      server = { app, closing };
      world.schedule.start();
      return simulator.url;
    },
    close: async () => {
      const closed = server;
      server = undefined;
      closed?.closing.abort(new Error("the simulator is closing"));
      await Promise.all([closed?.app.close(), world.schedule.stop()]);
    },
    tally: () => world.tally.read(world.faults.hits()),
  };
  if (options.port !== undefined) await simulator.listen();
  return simulator;
}

/** The HTTP server over the present world: the service's own paths, the control surface and the page. */
function buildServer(
  gateway: GatewayParts,
  hand: {
    readonly control: Control;
    readonly tally: () => Tally;
    readonly isOpen: boolean;
  },
): FastifyInstance {
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
    if (contentType !== undefined) reply.header("content-type", contentType);
    return reply.code(status).send(text);
  });
  app.setNotFoundHandler((request, reply) => serve(undefined, request, reply, gateway));
  for (const [name, { method, path }] of gateway.world().routes) {
    app.route({ method, url: path, handler: (request, reply) => serve(name, request, reply, gateway) });
  }
  app.get("/openapi.json", (_request, reply) => reply.send(openApiDocument()));
  controlRoutes(app, hand);
  pageRoutes(app, hand.isOpen);
  return app;
}
