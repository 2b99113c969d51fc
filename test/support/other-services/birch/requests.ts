import type { FastifyInstance, FastifyRequest } from "fastify";
import type { House } from "./service.ts";
import type { ContainerRow, ProcedureRow, RequestRow, Row, SubjectRow } from "./store.ts";
import { body, listed, query, Refusal } from "./strict.ts";

const BASE = "/tenants/api-gateway/api";
const EXTRA = { _links: { self: "…" }, revision: 3, tags: [] };

const subjectJson = ({ tenant: _tenant, ...row }: SubjectRow) => ({ ...row, ...EXTRA });

const requestJson = ({ containers, tenant: _tenant, ...row }: RequestRow) => ({
  ...row,
  ...(row.type === "STORE"
    ? {
        sampleContainers: containers.map((one) => ({
          sampleContainerId: one.externalId,
          description: one.description,
        })),
      }
    : {}),
  ...(row.status === "ACCEPTED" ? { acceptedBy: "Bo Birch" } : {}),
  ...EXTRA,
});

const WORDS = { STORE: "store", RETRIEVAL: "retrieval", TRANSFER: "transfer" } as const;

const procedureJson = ({ containers, tenant: _tenant, subjectCode: _code, ...row }: ProcedureRow) => ({
  ...row,
  type: WORDS[row.type],
  storageId: row.facilityId * 10,
  sampleContainerIds: containers.map((one) => one.id),
  performedBy: "Bo Birch",
  ...EXTRA,
});

const containerJson = ({ tenant: _tenant, slot, ...row }: ContainerRow) => ({
  ...row,
  isStored: slot !== null,
  ...EXTRA,
});

/** The request surface of Birch. */
export function requestSurface(app: FastifyInstance, house: House): void {
  const { store } = house;
  const only = (...named: string[]) => (house.isNarrow ? { named } : {});

  const own = <T extends Row>(request: FastifyRequest, rows: readonly T[]) =>
    rows.filter((row) => row.tenant === house.tenant(request));
  const one = <T extends Row>(request: FastifyRequest, rows: readonly T[]): T => {
    const { id } = request.params as { id: string };
    const found = /^\d+$/.test(id) ? rows.find((row) => String(row.id) === id) : undefined;
    if (!found) throw new Refusal(404, "NOT_FOUND", "there is none with this id");
    if (found.tenant !== house.tenant(request)) throw new Refusal(403, "FORBIDDEN", "not yours");
    return found;
  };

  app.post(`${BASE}/subjects`, async (request) => {
    const text = { code: "text", firstName: "text", lastName: "text", dateOfBirth: "date" } as const;
    const given = body(request, { facilityId: "integer", ...text });
    const facilityId = Number(given.facilityId);
    house.mayUse(request, facilityId);
    if (store.subjects.rows.some((row) => row.facilityId === facilityId && row.code === given.code)) {
      throw new Refusal(400, "SUBJECT_EXISTS", "there is a subject with this code");
    }
    const row = { ...given, facilityId, tenant: house.tenant(request) } as Omit<
      SubjectRow,
      "id" | "createdAt"
    >;
    return subjectJson(store.subjects.insert(row));
  });
  app.get(`${BASE}/subjects`, async (request) => {
    const fields = ["id", "facilityId", "code", "firstName", "lastName", "dateOfBirth", "createdAt"];
    return listed(query(request, fields, only()), own(request, store.subjects.rows).map(subjectJson));
  });
  app.get(`${BASE}/subjects/:id`, async (request) => subjectJson(one(request, store.subjects.rows)));

  app.post(`${BASE}/procedure-requests`, async (request) => {
    const type = (request.body as { type?: unknown } | null)?.type;
    const given = body(request, {
      type: "text",
      facilityId: "integer",
      subjectCode: "text",
      ...(type === "RETRIEVAL"
        ? { sampleContainerIds: "integers" }
        : { sampleContainers: ["sampleContainerId", "description"] as const }),
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
    const wanted = (given.sampleContainers ?? []) as { sampleContainerId: string; description: string }[];
    const ids = (given.sampleContainerIds ?? []) as number[];
    const found = store.containers.rows.filter((row) => row.subjectId === subject.id && ids.includes(row.id));
    if (found.length !== ids.length)
      throw new Refusal(400, "VALIDATION_ERROR", "a container of somebody else");
    const whose = { tenant, facilityId, subjectId: subject.id, subjectCode, slot: null, storedAt: null };
    const fresh = wanted.map(({ sampleContainerId: externalId, description }) =>
      store.containers.insert({ ...whose, externalId, description }),
    );
    const containers = [...found, ...fresh];
    house.note(
      facilityId,
      type,
      containers.map((row) => row.externalId),
    );
    const rest = { status: "PENDING", procedureId: null, acceptedAt: null } as const;
    return requestJson(store.requests.insert({ tenant, facilityId, type, subjectCode, containers, ...rest }));
  });
  app.get(`${BASE}/procedure-requests/:id`, async (request) =>
    requestJson(one(request, store.requests.rows)),
  );
  app.get(`${BASE}/procedure-requests`, async (request) => {
    const fields = [
      "id",
      "type",
      "status",
      "facilityId",
      "subjectCode",
      "procedureId",
      "createdAt",
      "acceptedAt",
    ];
    return listed(query(request, fields, only("status")), own(request, store.requests.rows).map(requestJson));
  });

  app.get(`${BASE}/procedures/:id`, async (request) => procedureJson(one(request, store.procedures.rows)));
  app.get(`${BASE}/procedures`, async (request) => {
    const fields = [
      "id",
      "type",
      "status",
      "facilityId",
      "storageId",
      "requestId",
      "createdAt",
      "startedAt",
      "completedAt",
    ];
    const asked = query(request, fields, { required: ["facilityId"], ...only("facilityId") });
    house.mayUse(request, Number(asked.facilityId));
    return listed(asked, own(request, store.procedures.rows).map(procedureJson));
  });

  app.get(`${BASE}/sample-containers`, async (request) => {
    const asked = query(request, ["id", "subjectCode", "facilityId", "description", "storedAt"], {
      required: ["subjectCode"],
      ...only("subjectCode"),
    });
    return listed(asked, own(request, store.containers.rows).map(containerJson));
  });
  app.get(`${BASE}/sample-containers/:id/location`, async (request) => {
    const row = one(request, store.containers.rows);
    if (row.slot === null) throw new Refusal(404, "NOT_STORED", "the container is in no storage");
    const place = {
      storageId: row.facilityId * 10,
      storageName: "B-Tank",
      position: `can 1 cane 2 slot ${row.slot}`,
    };
    return { sampleContainerId: row.id, ...place, storedAt: row.storedAt, ...EXTRA };
  });

  app.get(`${BASE}/storage`, async (request) => {
    const asked = query(request, ["id", "name", "facilityId"], {
      required: ["facilityId"],
      ...only("facilityId"),
    });
    const facilityId = Number(asked.facilityId);
    house.mayUse(request, facilityId);
    return listed(asked, [{ id: facilityId * 10, name: "B-Tank", facilityId, ...EXTRA }]);
  });
  app.get(`${BASE}/storage/:id/inventory`, async (request) => {
    house.mayUse(request, Number((request.params as { id: string }).id) / 10);
    return [{ level: "cane", label: "2", children: [] }];
  });
}
