/** Birch's tables: plain rows with small ids, and a clerk and a machine that look at them every few milliseconds. */

export interface Row {
  readonly id: number;
  readonly tenant: string;
  readonly facilityId: number;
  readonly createdAt: string;
}

export interface SubjectRow extends Row {
  readonly code: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly dateOfBirth: string;
}

export interface ContainerRow extends Row {
  readonly subjectId: number;
  readonly subjectCode: string;
  readonly externalId: string;
  readonly description: string;
  slot: number | null;
  storedAt: string | null;
}

export interface RequestRow extends Row {
  readonly type: "STORE" | "RETRIEVAL";
  readonly subjectCode: string;
  readonly containers: readonly ContainerRow[];
  status: "PENDING" | "ACCEPTED" | "REJECTED";
  procedureId: number | null;
  acceptedAt: string | null;
}

export interface ProcedureRow extends Row {
  readonly type: "STORE" | "RETRIEVAL" | "TRANSFER";
  readonly subjectId: number;
  readonly subjectCode: string;
  readonly containers: readonly ContainerRow[];
  readonly requestId: number | null;
  status: "PENDING" | "CREATED" | "IN_PROGRESS" | "COMPLETED" | "CANCELLED" | "FAILED";
  startedAt: string | null;
  completedAt: string | null;
  error: string | null;
}

const TICK_MS = 25;

/** Rows by id, in the order in which they were made. */
class Table<T extends Row> {
  readonly rows: T[] = [];

  insert(row: Omit<T, "id" | "createdAt">): T {
    const made = { ...row, id: this.rows.length + 1, createdAt: new Date().toISOString() } as unknown as T;
    this.rows.push(made);
    return made;
  }
}

export function openStore() {
  const subjects = new Table<SubjectRow>();
  const containers = new Table<ContainerRow>();
  const requests = new Table<RequestRow>();
  const procedures = new Table<ProcedureRow>();
  let lastSlot = 0;

  const has = (row: { containers: readonly ContainerRow[] }, mark: string) =>
    row.containers.some(({ externalId }) => externalId.includes(mark));

  function clerk(): void {
    for (const request of requests.rows) {
      if (request.status !== "PENDING") continue;
      request.status = has(request, "REJECT") ? "REJECTED" : "ACCEPTED";
      if (request.status === "REJECTED") continue;
      const { tenant, facilityId, type, subjectCode, containers: own, id: requestId } = request;
      const procedure = procedures.insert({
        tenant,
        facilityId,
        type,
        subjectId: subjects.rows.find((one) => one.code === subjectCode)?.id ?? 0,
        subjectCode,
        containers: own,
        requestId,
        status: "CREATED",
        startedAt: null,
        completedAt: null,
        error: null,
      });
      request.procedureId = procedure.id;
      request.acceptedAt = new Date().toISOString();
    }
  }

  function machine(): void {
    const now = new Date().toISOString();
    for (const procedure of procedures.rows) {
      if (procedure.status === "PENDING") {
        procedure.status = has(procedure, "REJECT") ? "CANCELLED" : "CREATED";
      } else if (procedure.status === "CREATED") {
        procedure.status = "IN_PROGRESS";
        procedure.startedAt = now;
      } else if (procedure.status === "IN_PROGRESS" && has(procedure, "FAIL")) {
        procedure.status = "FAILED";
        procedure.error = "E-42: the lid did not open";
      } else if (procedure.status === "IN_PROGRESS") {
        procedure.status = "COMPLETED";
        procedure.completedAt = now;
        for (const container of procedure.containers) {
          lastSlot += 1;
          container.slot = procedure.type === "STORE" ? lastSlot : null;
          if (procedure.type === "STORE") container.storedAt = now;
        }
      }
    }
  }

  let turn = 0;
  const ticking = setInterval(() => {
    turn += 1;
    if (turn % 2 === 0) clerk();
    else machine();
  }, TICK_MS);
  return { subjects, containers, requests, procedures, close: () => clearInterval(ticking) };
}

export type Store = ReturnType<typeof openStore>;
