import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Control } from "./control.ts";
import { faultSchema } from "./fault-rule.ts";
import { settingsSchema } from "./options.ts";
import { Refusal } from "./refusal.ts";
import type { Tally } from "./tally.ts";

export interface ControlRouteParts {
  readonly control: Control;
  readonly tally: () => Tally;
  /** Whether callers from elsewhere than this machine are let in. */
  readonly isOpen: boolean;
}

const idSchema = z.coerce.number().int();
const subjectSchema = z.strictObject({
  facilityId: z.int(),
  code: z.string().min(1),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  dateOfBirth: z.string().optional(),
});
const containerSchema = z.strictObject({
  facilityId: z.int(),
  subjectCode: z.string(),
  name: z.string().min(1),
  description: z.string().optional(),
});

/** `/simulator/*`: what {@link Control} can do, over HTTP and without a credential. Errors are `{ code, message }`. */
export function controlRoutes(app: FastifyInstance, parts: ControlRouteParts): void {
  const { control } = parts;
  const route = (method: "GET" | "POST" | "PUT" | "PATCH", path: string, act: (ask: Ask) => unknown) => {
    app.route({
      method,
      url: `/simulator/${path}`,
      onRequest: guard(parts.isOpen),
      handler: (request, reply) => respond(request, reply, act),
    });
  };
  route("GET", "state", ({ query }) => overview(control, Number(query.get("limit") ?? 200)));
  route("GET", "tally", () => parts.tally());
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
  route("POST", "faults", ({ read }) => {
    control.addFault(read(faultSchema));
    return control.faults();
  });

  const by = z.strictObject({ by: z.string().optional() });
  route("POST", "requests/:id/accept", ({ id, read }) => control.acceptRequest(id(), read(by).by));
  route("POST", "requests/:id/reject", ({ id }) => control.rejectRequest(id()));
  route("POST", "requests/:id/cancel", ({ id }) => control.cancelRequest(id()));
  route("POST", "procedures/:id/accept", ({ id }) => control.acceptProcedure(id()));
  route("POST", "procedures/:id/start", ({ id, read }) => control.startProcedure(id(), read(by).by));
  route("POST", "procedures/:id/complete", ({ id }) => control.completeProcedure(id()));
  const failure = z.strictObject({ error: z.string().optional() });
  route("POST", "procedures/:id/fail", ({ id, read }) => control.failProcedure(id(), read(failure).error));
  route("POST", "procedures/:id/cancel", ({ id }) => control.cancelProcedure(id()));
  route("POST", "refills", ({ read }) =>
    control.createRefill(read(z.strictObject({ storageId: z.int() })).storageId),
  );
  route("POST", "subjects", ({ read }) => control.addSubject(read(subjectSchema)));
  route("POST", "containers", ({ read }) => control.addContainer(read(containerSchema)));
  route("POST", "advance", ({ read }) => control.advance(read(z.strictObject({ ms: z.number().min(0) })).ms));
  route("POST", "revoke-tokens", () => control.revokeTokens());
  route("POST", "reset", () => control.reset());
}

/** What an act is asked with. */
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
 * own at loopback), and by origin. With `isOpen` a page of another origin is still refused.
 */
export function guard(isOpen: boolean) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { host = "", origin } = request.headers;
    const isLocal = isLoopback(request.socket.remoteAddress ?? "") && isLoopback(hostName(host));
    const isSameOrigin = origin === undefined || origin === `http://${host}`;
    if ((isOpen || isLocal) && isSameOrigin) return;
    await reply
      .code(403)
      .send({ code: "FORBIDDEN", message: "the control surface is for this machine only" });
  };
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/, "");
  return plain === "localhost" || plain === "::1" || /^127(\.\d{1,3}){3}$/.test(plain);
}

/** What the page shows: the newest rows, counts by status, and the settings. */
function overview(control: Control, limit: number) {
  const requests = control.requests();
  const procedures = control.procedures();
  const count = (rows: readonly { readonly status: string }[]) => {
    const counts: Record<string, number> = {};
    for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  const containers = control.containers();
  const labelById = new Map(containers.map(({ id, name }) => [id, name]));
  const labelsOf = (ids: readonly number[]) => ids.map((id) => labelById.get(id) ?? String(id));
  return {
    settings: control.settings(),
    faults: control.faults(),
    counts: {
      requests: count(requests),
      procedures: count(procedures),
      subjects: control.subjects().length,
      stored: containers.filter(({ slot }) => slot !== undefined).length,
    },
    storages: control.storages().map(({ id, name, facilityId }) => ({ id, name, facilityId })),
    requests: requests
      .slice(-limit)
      .reverse()
      .map((row) => ({
        ...row,
        labels: row.type === "STORE" ? row.containers.map(({ name }) => name) : labelsOf(row.containerIds),
      })),
    procedures: procedures
      .slice(-limit)
      .reverse()
      .map((row) => ({ ...row, labels: labelsOf(row.containerIds) })),
  };
}
