import type { BehaviourChange } from "./behaviour.ts";
import type { FaultBook, FaultRule } from "./faults.ts";
import type { Credentials } from "./http/authorization.ts";
import { notFound } from "./http/refusal.ts";
import {
  changedSettings,
  type NewSubject,
  type SeedContainer,
  type Settings,
  type SettingsChange,
} from "./options.ts";
import type { Lifecycle } from "./world/lifecycle.ts";
import type {
  Container,
  Facility,
  Procedure,
  ProcedureRequest,
  StorageSolution,
  Subject,
} from "./world/rows.ts";
import type { Schedule } from "./world/schedule.ts";
import type { SimulatorEvent, State } from "./world/state.ts";
import { Transitions } from "./world/transitions.ts";

/** What a test puts into a row against the service's rules. */
type RequestChange = Partial<Pick<ProcedureRequest, "status" | "procedureId" | "acceptedAt" | "acceptedBy">>;
type ProcedureChange = Partial<
  Pick<Procedure, "status" | "createdAt" | "startedAt" | "completedAt" | "performedBy" | "error">
>;

interface ControlParts {
  readonly state: State;
  readonly schedule: Schedule;
  readonly lifecycle: Lifecycle;
  readonly credentials: Credentials;
  readonly faults: FaultBook;
  /** The settings in force; changed in place. */
  readonly settings: Settings;
  readonly listeners: Set<(event: SimulatorEvent) => void>;
}

/**
 * The hand that plays staff, devices and the weather. Acts throw a `Refusal` (status 404 or 409) when the row is not
 * there or its status doesn't allow them. Rows that are listed are copies.
 */
export class Control extends Transitions {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    super(parts.state, () => parts.settings.behaviour);
    this.#parts = parts;
  }

  /** Lowest id first. */
  requests(): ProcedureRequest[] {
    return this.state.requests.all().map((row) => ({ ...row }));
  }

  findRequest(id: number): ProcedureRequest | undefined {
    const row = this.state.requests.find(id);
    return row && { ...row };
  }

  findProcedure(id: number): Procedure | undefined {
    const row = this.state.procedures.find(id);
    return row && { ...row };
  }

  procedures(): Procedure[] {
    return this.state.procedures.all().map((row) => ({ ...row }));
  }

  subjects(): Subject[] {
    return [...this.state.subjects.all()];
  }

  containers(): Container[] {
    return this.state.containers.all().map((row) => ({ ...row }));
  }

  facilities(): Facility[] {
    return this.state.facilities();
  }

  storages(): StorageSolution[] {
    return this.state.storages.all().map((row) => ({ ...row }));
  }

  /** Takes a PENDING request all the way: accepted, run, completed. */
  fulfilRequest(id: number): Procedure {
    const procedure = this.acceptRequest(id);
    this.startProcedure(procedure.id);
    return { ...this.completeProcedure(procedure.id) };
  }

  /** Lets this much simulated time pass at once; what automatic staff and devices do in it has happened on return. */
  advance(ms: number): void {
    this.#parts.schedule.advance(ms);
  }

  /** Changes speed, staff, devices or behaviour from now on; what waits is planned again. */
  configure(change: SettingsChange): void {
    const { settings, schedule, lifecycle } = this.#parts;
    Object.assign(settings, changedSettings(settings, change));
    if (change.speed !== undefined) schedule.setSpeed(change.speed);
    if (change.staff || change.device || change.refills) lifecycle.replan();
  }

  /** Shorthand for `configure({ behaviour })`. */
  behave(behaviour: BehaviourChange): void {
    this.configure({ behaviour });
  }

  settings(): Readonly<Settings> {
    return { ...this.#parts.settings };
  }

  /** Puts fault rules in place of the present ones; their counts begin at 0. */
  setFaults(rules: readonly FaultRule[]): void {
    this.#parts.faults.replace(rules);
  }

  faults(): FaultRule[] {
    return this.#parts.faults.rules();
  }

  /** All access tokens that are out are refused from now on. */
  revokeTokens(): void {
    this.#parts.credentials.revokeIssued();
  }

  /** A subject that was there before anyone called; a code that exists already gives a second subject. */
  addSubject(subject: NewSubject): Subject {
    return this.state.addSubject(subject, { mayRepeat: true });
  }

  /** A container that was in storage before anyone called. Its subject must exist. */
  addContainer(seeded: SeedContainer): Container {
    return { ...this.state.storeContainer(seeded) };
  }

  /** Changes a request against all rules: a status that nobody knows, one that goes back, a lost procedure id. */
  alterRequest(id: number, change: RequestChange): void {
    const request = this.state.requests.find(id);
    if (!request) throw notFound("procedure request");
    Object.assign(request, change);
    this.state.reportChanged("request", request);
  }

  alterProcedure(id: number, change: ProcedureChange): void {
    const procedure = this.state.procedures.find(id);
    if (!procedure) throw notFound("procedure");
    Object.assign(procedure, change);
    this.state.reportChanged("procedure", procedure);
  }

  /** The service knows the row no more: 404, and gone from lists. */
  forget(kind: "request" | "procedure" | "subject" | "container", id: number): void {
    const { requests, procedures, subjects, containers } = this.state;
    const tables = { request: requests, procedure: procedures, subject: subjects, container: containers };
    tables[kind].remove(id);
  }

  /** Reports every change until the returned function is called. Listeners must not throw. */
  subscribe(listener: (event: SimulatorEvent) => void): () => void {
    this.#parts.listeners.add(listener);
    return () => this.#parts.listeners.delete(listener);
  }
}
