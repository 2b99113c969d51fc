import { createRandom, drawMs, type Random } from "../chance.ts";
import type { Settings } from "../options.ts";
import type { Procedure, ProcedureRequest } from "./rows.ts";
import type { Schedule } from "./schedule.ts";
import type { SimulatorEvent, State } from "./state.ts";
import type { Transitions } from "./transitions.ts";

interface LifecycleParts {
  readonly state: State;
  /** Asked for with each act: the hand that acts holds this lifecycle. */
  readonly transitions: () => Transitions;
  readonly schedule: Schedule;
  readonly settings: Settings;
  readonly seed: number;
}

const FAILURES = [
  "device error: lid did not open",
  "device error: canister not at its place",
  "RFID tag could not be read",
] as const;

/** Parts of a row's fate that are drawn apart, so that one setting doesn't change another's draw. */
const REVIEW = 1;
const START = 2;
const RUN = 3;
const REFILL = 4;

/**
 * Staff and devices that act by themselves, after the durations and with the rates of the settings. The fate of a
 * row depends on the seed and its id alone, not on the order in which calls happened to arrive.
 */
export class Lifecycle {
  readonly #parts: LifecycleParts;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** Plans what follows from a change. */
  observe(event: SimulatorEvent): void {
    const { state } = this.#parts;
    if (event.kind === "request") {
      const request = state.requests.find(event.id);
      if (request) this.#planRequest(request);
    } else if (event.kind === "procedure") {
      const procedure = state.procedures.find(event.id);
      if (procedure) this.#planProcedure(procedure);
    }
  }

  /** Plans all open rows again, by the settings as they are now. */
  replan(): void {
    const { state, schedule } = this.#parts;
    schedule.clear();
    for (const request of state.requests.all()) this.#planRequest(request);
    for (const procedure of state.procedures.all()) this.#planProcedure(procedure);
    for (const storage of state.storages.all()) this.#planRefill(storage.id, 1);
  }

  /** A device asks for the storage solution's n-th refill after a while, and so on. */
  #planRefill(storageId: number, ordinal: number): void {
    const { schedule, settings, transitions } = this.#parts;
    if (!settings.refills.auto) return;
    const fate = this.#fate(storageId + ordinal * 65_537, REFILL);
    schedule.add(drawMs(settings.refills.everyMs, fate), () => {
      if (!settings.refills.auto) return;
      transitions().createRefill(storageId);
      this.#planRefill(storageId, ordinal + 1);
    });
  }

  #planRequest(request: ProcedureRequest): void {
    const { schedule, settings, transitions } = this.#parts;
    if (request.status !== "PENDING" || !settings.staff.auto) return;
    const fate = this.#fate(request.id, REVIEW);
    schedule.add(drawMs(settings.staff.reviewAfterMs, fate), () => {
      if (request.status !== "PENDING" || !settings.staff.auto) return;
      if (fate.happens(settings.staff.acceptanceRate)) transitions().acceptRequest(request.id);
      else transitions().rejectRequest(request.id);
    });
  }

  #planProcedure(procedure: Procedure): void {
    const { schedule, settings, transitions } = this.#parts;
    const { staff, device } = settings;
    const { id, status } = procedure;
    if (status === "PENDING" && staff.auto) {
      const fate = this.#fate(id, REVIEW);
      schedule.add(drawMs(staff.reviewAfterMs, fate), () => {
        if (procedure.status !== "PENDING" || !settings.staff.auto) return;
        if (fate.happens(settings.staff.acceptanceRate)) transitions().acceptProcedure(id);
        else transitions().cancelProcedure(id);
      });
    } else if (status === "CREATED" && device.auto) {
      schedule.add(drawMs(device.startAfterMs, this.#fate(id, START)), () => {
        if (procedure.status === "CREATED" && settings.device.auto) transitions().startProcedure(id);
      });
    } else if (status === "IN_PROGRESS" && device.auto) {
      const fate = this.#fate(id, RUN);
      schedule.add(drawMs(device.runMs, fate), () => {
        if (procedure.status !== "IN_PROGRESS" || !settings.device.auto) return;
        if (fate.happens(settings.device.failureRate)) transitions().failProcedure(id, fate.pick(FAILURES));
        else transitions().completeProcedure(id);
      });
    }
  }

  #fate(id: number, part: number): Random {
    return createRandom(this.#parts.seed + Math.imul(id >>> 0, 2_654_435_761) + part * 40_503);
  }
}
