import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type Control, defined } from "./control.ts";
import { overview } from "./control-overview.ts";
import { faultSchema } from "./fault-schema.ts";
import { Refusal } from "./refusal.ts";
import { containerSchema, settingsSchema, subjectSchema } from "./script.ts";
import type { Tally } from "./tally.ts";

export interface ControlRouteParts {
  readonly control: Control;
  readonly tally: () => Tally;
  /** Whether callers from elsewhere than this machine are let in. */
  readonly isOpen: boolean;
}

const idSchema = z.coerce.number().int();
const by = z.strictObject({ by: z.string().optional() });
const failure = z.strictObject({ error: z.string().optional() });
const tagging = z.strictObject({ containerId: z.int(), tag: z.string().trim().min(1).max(64) });
const refill = z.strictObject({ storageId: z.int() });
const transfer = z.strictObject({ containerIds: z.array(z.int()).min(1), storageId: z.int() });
const registration = z.strictObject({ facilityId: z.int(), name: z.string().trim().min(1) });
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
const moment = z.iso.datetime();
const requestChange = z
  .strictObject({
    status: z.string(),
    procedureId: z.int().nullable(),
    acceptedAt: moment,
    acceptedBy: z.string(),
  })
  .partial();
const procedureChange = z
  .strictObject({
    status: z.string(),
    startedAt: moment,
    completedAt: moment,
    performedBy: z.string(),
    error: z.string().nullable(),
  })
  .partial();
const rotation = z.strictObject({ clientId: z.string(), secret: z.string().min(1) });

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

  route("POST", "requests/:id/accept", ({ id, read }) => control.acceptRequest(id(), read(by).by));
  route("POST", "requests/:id/reject", ({ id }) => control.rejectRequest(id()));
  route("POST", "requests/:id/cancel", ({ id }) => control.cancelRequest(id()));
  // Against all rules: a status that nobody knows, one that goes back.
  route("PATCH", "requests/:id", ({ id, read }) => control.alterRequest(id(), defined(read(requestChange))));
  route("PATCH", "procedures/:id", ({ id, read }) =>
    control.alterProcedure(id(), defined(read(procedureChange))),
  );
  route("POST", "procedures/:id/accept", ({ id }) => control.acceptProcedure(id()));
  route("POST", "procedures/:id/tag", ({ id, read }) => {
    const { containerId, tag } = read(tagging);
    control.associateTag(id(), containerId, tag);
  });
  route("POST", "procedures/:id/start", ({ id, read }) => control.startProcedure(id(), read(by).by));
  route("POST", "procedures/:id/complete", ({ id }) => control.completeProcedure(id()));
  route("POST", "procedures/:id/fail", ({ id, read }) => control.failProcedure(id(), read(failure).error));
  route("POST", "procedures/:id/cancel", ({ id }) => control.cancelProcedure(id()));
  route("POST", "procedures", ({ read }) =>
    control.createProcedure({ containers: [], containerIds: [], ...read(webAppOrder) }),
  );
  route("POST", "refills", ({ read }) => control.createRefill(read(refill).storageId));
  route("POST", "transfers", ({ read }) => {
    const { containerIds, storageId } = read(transfer);
    return control.createTransfer(containerIds, storageId);
  });
  route("POST", "storage-registrations", ({ read }) => {
    const { facilityId, name } = read(registration);
    return control.createStorageRegistration(facilityId, name);
  });
  route("POST", "subjects", ({ read }) => control.addSubject(read(subjectSchema)));
  route("POST", "containers", ({ read }) => control.addContainer(read(containerSchema)));
  route("POST", "advance", ({ read }) => control.advance(read(z.strictObject({ ms: z.number().min(0) })).ms));
  route("POST", "revoke-tokens", () => control.revokeTokens());
  route("POST", "revoke-token", ({ read }) =>
    control.revokeToken(read(z.strictObject({ token: z.string() })).token),
  );
  route("POST", "rotate-secret", ({ read }) => {
    const { clientId, secret } = read(rotation);
    control.rotateSecret(clientId, secret);
  });
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
