import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { isLoopbackHost } from "../core/address-list.ts";
import type { Control } from "./control.ts";
import { faultSchema } from "./faults.ts";
import { Refusal } from "./http/refusal.ts";
import { containerSchema, settingsSchema, subjectSchema } from "./options.ts";
import type { Tally } from "./tally.ts";

const idSchema = z.coerce.number().int();
const by = z.strictObject({ by: z.string().optional() });
const failure = z.strictObject({ error: z.string().optional() });
const refill = z.strictObject({ storageId: z.int() });
const webAppOrder = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("STORE"),
    facilityId: z.int(),
    subjectCode: z.string(),
    containers: z.array(z.strictObject({ name: z.string().min(1), description: z.string() })).min(1),
  }),
  z.strictObject({
    type: z.literal("RETRIEVAL"),
    facilityId: z.int(),
    subjectCode: z.string(),
    containerIds: z.array(z.int()).min(1),
  }),
]);

/**
 * `/simulator/*`: what {@link Control} can do, over HTTP and without a credential. Errors are `{ code, message }`.
 *
 * @param host the address that the simulator listens on: one beyond loopback lets in whoever reaches it
 */
export function controlRoutes(
  app: FastifyInstance,
  control: Control,
  { tally, host }: { readonly tally: () => Tally; readonly host: string },
): void {
  const guard = isLoopbackHost(host) ? guardOfThisMachine : guardOfNetwork;
  const route = (method: "GET" | "POST" | "PUT" | "PATCH", path: string, act: (ask: Ask) => unknown) => {
    app.route({
      method,
      url: `/simulator/${path}`,
      onRequest: guard,
      handler: (request, reply) => respond(request, reply, act),
    });
  };
  route("GET", "state", ({ query }) => overview(control, Number(query.get("limit") ?? 200)));
  route("GET", "tally", tally);
  route("GET", "settings", () => control.settings());
  route("PATCH", "settings", ({ read }) => {
    control.configure(read(settingsSchema));
    return control.settings();
  });
  route("GET", "faults", () => control.faults());
  route("PUT", "faults", ({ read }) => {
    control.setFaults(read(z.array(faultSchema)));
    return control.faults();
  });

  route("POST", "requests/:id/accept", ({ id, read }) => control.acceptRequest(id(), read(by).by));
  route("POST", "requests/:id/reject", ({ id }) => control.rejectRequest(id()));
  route("POST", "requests/:id/cancel", ({ id }) => control.cancelRequest(id()));
  route("POST", "procedures/:id/accept", ({ id }) => control.acceptProcedure(id()));
  route("POST", "procedures/:id/start", ({ id, read }) => control.startProcedure(id(), read(by).by));
  route("POST", "procedures/:id/complete", ({ id }) => control.completeProcedure(id()));
  route("POST", "procedures/:id/fail", ({ id, read }) => control.failProcedure(id(), read(failure).error));
  route("POST", "procedures/:id/cancel", ({ id }) => control.cancelProcedure(id()));
  route("POST", "procedures", ({ read }) =>
    control.createProcedure({ containers: [], containerIds: [], ...read(webAppOrder) }),
  );
  route("POST", "refills", ({ read }) => control.createRefill(read(refill).storageId));
  route("POST", "subjects", ({ read }) => control.addSubject(read(subjectSchema)));
  route("POST", "containers", ({ read }) => control.addContainer(read(containerSchema)));
  route("POST", "advance", ({ read }) => control.advance(read(z.strictObject({ ms: z.number().min(0) })).ms));
  route("POST", "revoke-tokens", () => control.revokeTokens());
  pageRoutes(app, guard);
}

interface Ask {
  readonly query: URLSearchParams;
  readonly id: () => number;
  /** The body by a schema; an absent body reads as `{}`. */
  readonly read: <T>(schema: z.ZodType<T>) => T;
}

function respond(request: FastifyRequest, reply: FastifyReply, act: (ask: Ask) => unknown): FastifyReply {
  const query = new URL(request.url, "http://simulator").searchParams;
  const text = typeof request.body === "string" ? request.body : "";
  try {
    const result = act({
      query,
      id: () => parse(idSchema, (request.params as Record<string, string>).id),
      read: (schema) => parse(schema, readJson(text)),
    });
    return reply.send(result ?? { done: true });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return reply.code(error.status).send({ code: error.code, message: error.message });
  }
}

function readJson(text: string): unknown {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, "BAD_REQUEST", "the body is not JSON");
  }
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value);
  if (!read.success) throw new Refusal(422, "BAD_REQUEST", z.prettifyError(read.error));
  return read.data;
}

/**
 * Lets in this machine's own callers only: by address, by the name they used (a foreign page may point a name of its
 * own at loopback), and by origin.
 */
async function guardOfThisMachine(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { host = "" } = request.headers;
  const isLocal =
    isLoopbackHost(request.socket.remoteAddress ?? "") && isLoopbackHost(host.replace(/:\d+$/, ""));
  if (isLocal) return await guardOfNetwork(request, reply);
  await reply.code(403).send({ code: "FORBIDDEN", message: "the control surface is for this machine only" });
}

/** Keeps out other sites' pages alone: a simulator in a container sees callers of its own machine under other addresses. */
async function guardOfNetwork(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { host = "", origin } = request.headers;
  if (origin === undefined || origin === `http://${host}`) return;
  await reply.code(403).send({ code: "FORBIDDEN", message: "another site's page may not control this" });
}

/** What the page shows: the newest rows, counts by status, and the settings. */
function overview(control: Control, limit: number) {
  const requests = control.requests();
  const procedures = control.procedures();
  const containers = control.containers();
  const containerById = new Map(containers.map((row) => [row.id, row]));
  const facilities = control.facilities().map(({ id, name }) => ({ id, name }));
  const facilityNameById = new Map(facilities.map(({ id, name }) => [id, name]));
  const storages = control.storages();
  const storageNameById = new Map(storages.map(({ id, name }) => [id, name]));
  const labelsOf = (ids: readonly number[]) => ids.map((id) => containerById.get(id)?.name ?? String(id));
  const newest = <T>(rows: readonly T[]) => rows.slice(-limit).reverse();
  return {
    settings: control.settings(),
    faults: control.faults(),
    counts: {
      requests: countByStatus(requests),
      procedures: countByStatus(procedures),
      subjects: control.subjects().length,
      stored: containers.filter(({ slot }) => slot !== undefined).length,
    },
    facilities,
    storages: storages.map(({ id, name, facilityId }) => ({ id, name, facilityId })),
    requests: newest(requests).map((row) => ({
      ...row,
      facility: facilityNameById.get(row.facilityId),
      labels: row.type === "STORE" ? row.containers.map(({ name }) => name) : labelsOf(row.containerIds),
    })),
    procedures: newest(procedures).map((row) => ({
      ...row,
      facility: facilityNameById.get(row.facilityId),
      storage: storageNameById.get(row.storageId),
      labels: labelsOf(row.containerIds),
    })),
    stored: newest(containers.filter(({ slot }) => slot !== undefined)).map((row) => ({
      ...row,
      storage: storageNameById.get(row.slot?.storageId ?? 0),
    })),
  };
}

function countByStatus(rows: readonly { readonly status: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const PICO = createRequire(import.meta.url).resolve("@picocss/pico/css/pico.classless.min.css");
const CSS = "text/css; charset=utf-8";
const FILES = [
  { url: "/", file: pageFile("page.html"), contentType: "text/html; charset=utf-8" },
  { url: "/simulator/page-pico.css", file: PICO, contentType: CSS },
  { url: "/simulator/page.css", file: pageFile("page.css"), contentType: CSS },
  { url: "/simulator/page.js", file: pageFile("page.js"), contentType: "text/javascript; charset=utf-8" },
];

function pageFile(name: string): URL {
  return new URL(`./page/${name}`, import.meta.url);
}

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; frame-ancestors 'none'";

/** The page on which a person plays staff and device. Everything it needs comes from this server. */
function pageRoutes(app: FastifyInstance, guard: typeof guardOfNetwork): void {
  for (const { url, file, contentType } of FILES) {
    app.get(url, { onRequest: guard }, async (_request, reply) => {
      const content = await readFile(file);
      return reply
        .header("content-type", contentType)
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        .header("cache-control", "no-cache")
        .send(content);
    });
  }
}
