import type { FastifyInstance, FastifyRequest } from "fastify";
import type { House } from "./service.ts";
import type { ContainerRow, ProcedureRow } from "./store.ts";
import { body, listed, query, Refusal } from "./strict.ts";

const BASE = "/tenants/api-gateway/api/v1/external";

const summary = (row: ProcedureRow) => ({
  id: row.id,
  code: `${row.type.slice(0, 2)}-${String(row.id).padStart(6, "0")}`,
  type: row.type,
  status: row.status,
  facility: { id: row.facilityId, name: `Birch ${row.facilityId}`, city: "Aarhus" },
  subject: { id: row.subjectId, code: row.subjectCode, initials: "?" },
  createdAt: row.createdAt,
  ...(row.completedAt ? { completedAt: row.completedAt } : {}),
  priority: "normal",
});

function whole(row: ProcedureRow) {
  const isStored = row.type === "STORE" && row.status === "COMPLETED";
  const storage = { id: row.facilityId * 10, name: "B-Tank", kind: "dewar" };
  const sampleContainers = row.containers.map((one) => ({
    id: one.id,
    name: one.externalId,
    description: one.description,
    ...(isStored
      ? { location: { storage, canister: "1", cane: "2", slot: one.slot }, storedAt: one.storedAt }
      : {}),
    rfid: null,
  }));
  return { ...summary(row), sampleContainers };
}

const entry = ({ id, externalId: name, subjectId, subjectCode, description, storedAt }: ContainerRow) => ({
  id,
  name,
  subject: { id: subjectId, code: subjectCode },
  description,
  storedAt,
  volume: null,
});

/** The external surface of Birch: the same rows, and the same way of wrapping a list. */
export function externalSurface(app: FastifyInstance, house: House): void {
  const { store } = house;
  const mine = (request: FastifyRequest) =>
    store.procedures.rows.filter((row) => row.tenant === house.tenant(request));

  app.post(`${BASE}/procedures`, async (request) => {
    const type = (request.body as { type?: unknown } | null)?.type;
    const given = body(request, {
      type: "text",
      facilityId: "integer",
      subjectCode: "text",
      ...(type === "RETRIEVAL"
        ? { sampleContainerIds: "integers" }
        : { sampleContainers: ["name", "description"] as const }),
    });
    if (type !== "STORE" && type !== "RETRIEVAL") throw new Refusal(400, "BAD_REQUEST", `type ${type}`, true);
    const facilityId = Number(given.facilityId);
    house.mayUse(request, facilityId);
    const subjectCode = String(given.subjectCode);
    const subject = store.subjects.rows.find(
      (row) => row.facilityId === facilityId && row.code === subjectCode,
    );
    if (!subject) throw new Refusal(400, "SUBJECT_UNKNOWN", "no such subject in the facility");
    const tenant = house.tenant(request);
    const ids = (given.sampleContainerIds ?? []) as number[];
    const found = store.containers.rows.filter((row) => row.subjectId === subject.id && ids.includes(row.id));
    if (found.length !== ids.length)
      throw new Refusal(400, "VALIDATION_ERROR", "a container of somebody else");
    const wanted = (given.sampleContainers ?? []) as { name: string; description: string }[];
    const whose = { tenant, facilityId, subjectId: subject.id, subjectCode };
    const fresh = wanted.map(({ name: externalId, description }) =>
      store.containers.insert({ ...whose, externalId, description, slot: null, storedAt: null }),
    );
    const containers = [...found, ...fresh];
    house.note(
      facilityId,
      type,
      containers.map((row) => row.externalId),
    );
    const rest = { requestId: null, startedAt: null, completedAt: null, error: null };
    return whole(store.procedures.insert({ ...whose, type, containers, status: "PENDING", ...rest }));
  });

  app.get(`${BASE}/procedures/:id`, async (request) => {
    const { id } = request.params as { id: string };
    const found = store.procedures.rows.find((row) => String(row.id) === id);
    if (!found) throw new Refusal(404, "NOT_FOUND", "there is none with this id");
    if (found.tenant !== house.tenant(request)) throw new Refusal(403, "FORBIDDEN", "not yours");
    return whole(found);
  });
  app.get(`${BASE}/procedures`, async (request) => {
    const asked = query(request, ["facilityId", "type"], { required: ["facilityId", "type"] });
    if (!["STORE", "RETRIEVAL", "REFILL"].includes(asked.type ?? ""))
      throw new Refusal(400, "BAD_REQUEST", "type", true);
    const { facilityId, ...others } = asked;
    house.mayUse(request, Number(facilityId));
    return listed(
      others,
      mine(request)
        .filter((row) => row.facilityId === Number(facilityId))
        .map(summary),
    );
  });
  app.get(`${BASE}/sample-containers`, async (request) => {
    const { subjectCode, ...others } = query(request, ["subjectCode"], { required: ["subjectCode"] });
    const own = store.containers.rows.filter(
      (row) => row.tenant === house.tenant(request) && row.subjectCode === subjectCode,
    );
    return listed(others, own.map(entry));
  });
}
