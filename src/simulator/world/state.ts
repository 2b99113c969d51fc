import type { Clock } from "../../core/clock.ts";
import type { Behaviour } from "../behaviour.ts";
import { invalid, notFound, Refusal } from "../http/refusal.ts";
import type { NewSubject, OrganizationOptions, SeedContainer } from "../options.ts";
import {
  type Container,
  type Facility,
  type NamedContainer,
  type NewOrder,
  type Procedure,
  type ProcedureRequest,
  type Slot,
  type StorageSolution,
  type Subject,
  Table,
} from "./rows.ts";

/** A row came into being or moved on. */
export interface SimulatorEvent {
  readonly kind: "subject" | "request" | "procedure";
  readonly id: number;
  /** Its status now; undefined for a subject. */
  readonly status: string | undefined;
  /** ISO 8601. */
  readonly at: string;
}

interface StateOptions {
  readonly clock: Clock;
  readonly firstId: number;
  readonly organizations: readonly OrganizationOptions[];
  /** Called with every change, after it was made. */
  readonly onEvent: (event: SimulatorEvent) => void;
}

const CANES = "ABCDEFGH";
const SLOTS_PER_CANE = 10;

/**
 * What the simulated service knows, in memory, and the rules by which rows come into being. It knows nothing of
 * HTTP; who may see what is the surfaces' matter. Its rules throw {@link Refusal}.
 */
export class State {
  readonly subjects = new Table<Subject>((row) => row.code);
  readonly containers = new Table<Container>((row) => row.subjectCode);
  readonly storages = new Table<StorageSolution>((row) => String(row.facilityId));
  readonly requests = new Table<ProcedureRequest>((row) => row.subjectCode);
  readonly procedures = new Table<Procedure>((row) => row.subjectCode);
  readonly #facilities = new Map<number, Facility>();
  readonly #lastProcedureOf = new Map<number, number>();
  readonly #freeSlots = new Map<number, Slot[]>();
  readonly #usedSlots = new Map<number, number>();
  readonly #options: StateOptions;
  #nextId: number;
  #nextProcedureCode = 1;

  constructor(options: StateOptions) {
    this.#options = options;
    this.#nextId = options.firstId;
    for (const organization of options.organizations) {
      for (const { id, name, storages } of organization.facilities) {
        this.#facilities.set(id, { id, name, organizationId: organization.id });
        for (const storage of storages ?? [`${name} Tank 1`, `${name} Tank 2`]) {
          this.storages.add({ ...this.#newRow(id), name: storage });
        }
      }
    }
  }

  /** The time as rows carry it. */
  timestamp(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }

  facility(id: number): Facility | undefined {
    return this.#facilities.get(id);
  }

  facilities(): Facility[] {
    return [...this.#facilities.values()];
  }

  /** The newest procedure that works on the container. */
  lastProcedureOf(containerId: number): Procedure | undefined {
    return this.procedures.find(this.#lastProcedureOf.get(containerId) ?? 0);
  }

  /** The subject with that code at that facility; the first one where several have it. */
  findSubject(facilityId: number, code: string): Subject | undefined {
    return this.subjects.withKey(code).find((subject) => subject.facilityId === facilityId);
  }

  /** Staff may give a code twice at a facility (`mayRepeat`), an integration may not. */
  addSubject(input: NewSubject, { mayRepeat = false } = {}): Subject {
    if (!mayRepeat && this.findSubject(input.facilityId, input.code)) {
      throw new Refusal(409, "DUPLICATE_SUBJECT", "a subject with this code exists at this facility");
    }
    const { facilityId, code, firstName, lastName, dateOfBirth } = input;
    const row = { ...this.#newRow(facilityId), createdAt: this.timestamp() };
    const subject = this.subjects.add({ ...row, code, firstName, lastName, dateOfBirth });
    this.#report("subject", subject.id, undefined);
    return subject;
  }

  addRequest(order: NewOrder, behaviour: Behaviour): ProcedureRequest {
    const subject = this.checkOrder(order, behaviour);
    const request = this.requests.add({
      ...this.#newRow(order.facilityId),
      type: order.type,
      subjectId: subject.id,
      subjectCode: subject.code,
      containers: order.containers,
      containerIds: order.containerIds,
      createdAt: this.timestamp(),
      status: "PENDING",
      procedureId: null,
      acceptedAt: undefined,
      acceptedBy: undefined,
    });
    this.#report("request", request.id, request.status);
    return request;
  }

  /** The rules that an order must meet on either surface; gives its subject. */
  checkOrder(order: NewOrder, behaviour: Behaviour): Subject {
    const status = behaviour.validationStatus;
    const subject = this.findSubject(order.facilityId, order.subjectCode);
    if (!subject) {
      throw invalid(status, "the subject is not known at this facility", [
        { field: "subjectCode", message: "no such subject" },
      ]);
    }
    const foreign = order.containerIds.filter((id) => this.containers.find(id)?.subjectId !== subject.id);
    if (foreign.length > 0) {
      throw invalid(status, "containers do not belong to the subject", [
        { field: "sampleContainerIds", message: `not the subject's: ${foreign.join(", ")}` },
      ]);
    }
    return subject;
  }

  /** Gives the containers of a STORE their ids; they are not in storage yet. */
  addContainers(subject: Subject, named: readonly NamedContainer[]): Container[] {
    return named.map(({ name, description }) =>
      this.containers.add({
        ...this.#newRow(subject.facilityId),
        name,
        description,
        subjectId: subject.id,
        subjectCode: subject.code,
        slot: undefined,
        slotSince: 0,
        storedAt: undefined,
      }),
    );
  }

  /** A container that is in storage without a procedure ever having put it there. Its subject must exist. */
  storeContainer(seeded: SeedContainer): Container {
    const subject = this.findSubject(seeded.facilityId, seeded.subjectCode);
    if (!subject) throw notFound("subject");
    const named = { name: seeded.name, description: seeded.description ?? "" };
    const [container] = this.addContainers(subject, [named]);
    const [storage] = this.storages.withKey(String(seeded.facilityId));
    if (!container || !storage) throw notFound("storage solution");
    this.putIntoStorage(container, storage.id);
    return container;
  }

  /** A procedure that is ordered without a request, by an integration or by a web-app user. */
  addOrderedProcedure(order: NewOrder, behaviour: Behaviour, status: string): Procedure {
    const subject = this.checkOrder(order, behaviour);
    const containerIds =
      order.type === "STORE"
        ? this.addContainers(subject, order.containers).map((container) => container.id)
        : order.containerIds;
    const { type, facilityId } = order;
    return this.addProcedure({ type, facilityId, containerIds, subject, requestId: null, status });
  }

  /** A procedure on the facility's storage, as an integration, a web-app user or a device creates it. */
  addProcedure(
    input: Pick<Procedure, "type" | "facilityId" | "containerIds" | "requestId" | "status"> & {
      readonly subject: Subject | undefined;
      readonly storageId?: number;
    },
  ): Procedure {
    const { subject, storageId, ...rest } = input;
    const code = `PR-${String(this.#nextProcedureCode).padStart(6, "0")}`;
    this.#nextProcedureCode += 1;
    const procedure = this.procedures.add({
      ...this.#newRow(rest.facilityId),
      ...rest,
      code,
      storageId: storageId ?? this.#storageFor(rest.facilityId, rest.containerIds),
      subjectId: subject?.id,
      subjectCode: subject?.code,
      createdAt: this.timestamp(),
      performedBy: undefined,
      startedAt: undefined,
      completedAt: undefined,
      error: null,
    });
    for (const containerId of rest.containerIds) this.#lastProcedureOf.set(containerId, procedure.id);
    this.#report("procedure", procedure.id, procedure.status);
    return procedure;
  }

  /** Reports that a request or a procedure has another status. */
  reportChanged(kind: "request" | "procedure", row: ProcedureRequest | Procedure): void {
    this.#report(kind, row.id, row.status);
  }

  /** Puts a container into a free slot of a storage solution. */
  putIntoStorage(container: Container, storageId: number): void {
    container.slot = this.#freeSlots.get(storageId)?.pop() ?? this.#newSlot(storageId);
    container.slotSince = this.#options.clock.monotonic();
    container.storedAt = this.timestamp();
  }

  takeOutOfStorage(container: Container): void {
    if (!container.slot) return;
    const { storageId } = container.slot;
    const free = this.#freeSlots.get(storageId) ?? [];
    free.push(container.slot);
    this.#freeSlots.set(storageId, free);
    container.slot = undefined;
    container.storedAt = undefined;
  }

  #newSlot(storageId: number): Slot {
    const used = this.#usedSlots.get(storageId) ?? 0;
    this.#usedSlots.set(storageId, used + 1);
    const cane = Math.floor(used / SLOTS_PER_CANE);
    return {
      storageId,
      canister: String(1 + Math.floor(cane / CANES.length)),
      cane: CANES.charAt(cane % CANES.length),
      slot: 1 + (used % SLOTS_PER_CANE),
    };
  }

  /** The storage that holds the containers, else the facility's storages in turn. */
  #storageFor(facilityId: number, containerIds: readonly number[]): number {
    const holding = this.containers.find(containerIds[0] ?? 0)?.slot?.storageId;
    if (holding !== undefined) return holding;
    const storages = this.storages.withKey(String(facilityId));
    const storage = storages[this.procedures.size % Math.max(1, storages.length)];
    if (!storage) throw notFound("storage solution");
    return storage.id;
  }

  #newRow(facilityId: number): { id: number; facilityId: number; insertedAt: number } {
    const id = this.#nextId;
    this.#nextId += 1;
    return { id, facilityId, insertedAt: this.#options.clock.monotonic() };
  }

  #report(kind: SimulatorEvent["kind"], id: number, status: string | undefined): void {
    this.#options.onEvent({ kind, id, status, at: this.timestamp() });
  }
}
