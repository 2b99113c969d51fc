import type { BehaviourChange } from "./behaviour.ts";
import { changedBehaviour } from "./behaviour.ts";
import type { FaultRule } from "./fault-rule.ts";
import type { Settings } from "./options.ts";
import type {
  Container,
  Facility,
  Procedure,
  ProcedureRequest,
  StorageSolution,
  Subject,
} from "./records.ts";
import { notFound } from "./refusal.ts";
import type { SettingsChange } from "./script.ts";
import { storeContainer } from "./seed.ts";
import type { NewOrder, NewSubject, SimulatorEvent, State } from "./state.ts";
import type { World } from "./world.ts";

/** A container that is in storage without a procedure ever having put it there. */
export interface SeedContainer {
  readonly facilityId: number;
  readonly subjectCode: string;
  /** The label. */
  readonly name: string;
  readonly description?: string | undefined;
}

/** What a test puts into a row over the head of the service's rules. */
export type RequestChange = Partial<
  Pick<ProcedureRequest, "status" | "procedureId" | "acceptedAt" | "acceptedBy">
>;
export type ProcedureChange = Partial<
  Pick<Procedure, "status" | "createdAt" | "startedAt" | "completedAt" | "performedBy" | "error">
>;

export interface ControlParts {
  readonly world: () => World;
  readonly settings: Settings;
  readonly listeners: Set<(event: SimulatorEvent) => void>;
  readonly reset: () => void;
}

/**
 * The hand that plays staff, devices and the weather. Acts throw a `Refusal` (status 404 or 409) when the row is not
 * there or its status doesn't allow them. Rows that are handed out are copies.
 */
export class Control {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  /** Lowest id first. */
  requests(): ProcedureRequest[] {
    return this.#state.requests.all().map((row) => ({ ...row }));
  }

  findRequest(id: number): ProcedureRequest | undefined {
    const row = this.#state.requests.find(id);
    return row && { ...row };
  }

  findProcedure(id: number): Procedure | undefined {
    const row = this.#state.procedures.find(id);
    return row && { ...row };
  }

  procedures(): Procedure[] {
    return this.#state.procedures.all().map((row) => ({ ...row }));
  }

  subjects(): Subject[] {
    return [...this.#state.subjects.all()];
  }

  containers(): Container[] {
    return this.#state.containers.all().map((row) => ({ ...row }));
  }

  facilities(): Facility[] {
    return this.#state.facilities();
  }

  storages(): StorageSolution[] {
    return this.#state.storages.all().map((row) => ({ ...row }));
  }

  acceptRequest(id: number, by?: string): Procedure {
    return { ...this.#world.transitions.acceptRequest(id, by) };
  }

  rejectRequest(id: number): void {
    this.#world.transitions.rejectRequest(id);
  }

  cancelRequest(id: number): void {
    this.#world.transitions.cancelRequest(id);
  }

  /** Staff act on a PENDING procedure of the external surface: accept a retrieval, or tag all containers. */
  acceptProcedure(id: number): void {
    this.#world.transitions.acceptProcedure(id);
  }

  /** Staff associate an RFID tag with one container of a PENDING storage; the last one makes it ready. */
  associateTag(id: number, containerId: number, tag: string): void {
    this.#world.transitions.associateTag(id, containerId, tag);
  }

  startProcedure(id: number, by?: string): void {
    this.#world.transitions.startProcedure(id, by);
  }

  completeProcedure(id: number): void {
    this.#world.transitions.completeProcedure(id);
  }

  failProcedure(id: number, error?: string): void {
    this.#world.transitions.failProcedure(id, error);
  }

  cancelProcedure(id: number): void {
    this.#world.transitions.cancelProcedure(id);
  }

  /** Takes a PENDING request all the way: accepted, run, completed. */
  fulfilRequest(id: number): Procedure {
    const procedure = this.acceptRequest(id);
    this.startProcedure(procedure.id);
    this.completeProcedure(procedure.id);
    return { ...procedure, ...this.#state.procedures.find(procedure.id) };
  }

  /** A device creates a refill, status CREATED. */
  createRefill(storageId: number): Procedure {
    return { ...this.#world.transitions.createRefill(storageId) };
  }

  /** A web-app user has stored containers of one subject moved; status CREATED. */
  createTransfer(containerIds: readonly number[], storageId: number): Procedure {
    return { ...this.#world.transitions.createTransfer(containerIds, storageId) };
  }

  /** A web-app user registers a storage solution, which is there once the procedure is completed; status CREATED. */
  createStorageRegistration(facilityId: number, name: string): Procedure {
    return { ...this.#world.transitions.createStorageRegistration(facilityId, name) };
  }

  /** A web-app user orders storage or retrieval without a request; status CREATED. */
  createProcedure(order: NewOrder): Procedure {
    return { ...this.#world.transitions.createProcedure(order) };
  }

  /** Lets so much simulated time pass at once; what automatic staff and devices do in it has happened on return. */
  advance(ms: number): void {
    this.#world.schedule.advance(ms);
  }

  /** Changes speed, staff, devices or behaviour from now on; what waits is planned anew. */
  configure(change: SettingsChange): void {
    const { settings } = this.#parts;
    const { speed, staff, device, refills, behaviour } = change;
    settings.staff = { ...settings.staff, ...defined(staff) };
    settings.device = { ...settings.device, ...defined(device) };
    settings.refills = { ...settings.refills, ...defined(refills) };
    settings.behaviour = changedBehaviour(settings.behaviour, behaviour ?? {});
    if (speed !== undefined) {
      settings.speed = speed;
      this.#world.schedule.setSpeed(speed);
    }
    if (staff || device || refills) this.#world.lifecycle.replan();
  }

  /** Shorthand for `configure({ behaviour })`. */
  behave(behaviour: BehaviourChange): void {
    this.configure({ behaviour });
  }

  settings(): Readonly<Settings> {
    return { ...this.#parts.settings };
  }

  /** Puts fault rules in place of the present ones; their counts begin anew. */
  setFaults(rules: readonly FaultRule[]): void {
    this.#world.faults.replace(rules);
  }

  addFault(rule: FaultRule): void {
    this.#world.faults.add(rule);
  }

  faults(): FaultRule[] {
    return this.#world.faults.rules();
  }

  /** All access tokens that are out are refused from now on. */
  revokeTokens(): void {
    this.#world.credentials.revokeIssued();
  }

  /** One access token or API token is refused from now on. */
  revokeToken(token: string): void {
    this.#world.credentials.revoke(token);
  }

  rotateSecret(clientId: string, secret: string): void {
    this.#world.credentials.rotateSecret(clientId, secret);
  }

  /** A subject that was there before anyone called; a code that exists already gives a second subject. */
  addSubject(subject: NewSubject): Subject {
    return this.#state.addSubject(subject, { mayRepeat: true });
  }

  /** A container that was in storage before anyone called. Its subject must exist. */
  addContainer(seed: SeedContainer): Container {
    return { ...storeContainer(this.#state, seed) };
  }

  /** Changes a request against all rules: a status that nobody knows, one that goes back, a lost procedure id. */
  alterRequest(id: number, change: RequestChange): void {
    const request = this.#state.requests.find(id);
    if (!request) throw notFound("procedure request");
    Object.assign(request, change);
    this.#state.tellChanged("request", request);
  }

  alterProcedure(id: number, change: ProcedureChange): void {
    const procedure = this.#state.procedures.find(id);
    if (!procedure) throw notFound("procedure");
    Object.assign(procedure, change);
    this.#state.tellChanged("procedure", procedure);
  }

  /** The service knows the row no more: 404, and gone from lists. */
  forget(kind: "request" | "procedure" | "subject" | "container", id: number): void {
    const { requests, procedures, subjects, containers } = this.#state;
    const tables = { request: requests, procedure: procedures, subject: subjects, container: containers };
    tables[kind].remove(id);
  }

  /** Tells of every change until the returned function is called. Listeners must not throw. */
  subscribe(listener: (event: SimulatorEvent) => void): () => void {
    this.#parts.listeners.add(listener);
    return () => this.#parts.listeners.delete(listener);
  }

  /** Back to the beginning: no rows, no tokens, an empty tally, settings and faults as the options gave them. */
  reset(): void {
    this.#parts.reset();
  }

  get #world(): World {
    return this.#parts.world();
  }

  get #state(): State {
    return this.#parts.world().state;
  }
}

/** The members that are not undefined, so that a change never takes a setting away. */
export function defined<T extends object>(
  change: T | undefined,
): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(change ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
