/** Alder's records and the people and devices who move them along. Nothing here knows of HTTP. */

export interface Subject {
  readonly id: number;
  readonly facilityId: number;
  readonly code: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly dateOfBirth: string;
  readonly createdAt: string;
}

export interface Vial {
  readonly id: number;
  readonly facilityId: number;
  readonly subject: { readonly id: number; readonly code: string };
  readonly name: string;
  readonly description: string;
  place?: { readonly canister: string; readonly cane: string; readonly storedAt: string };
}

export interface Demand {
  readonly id: number;
  readonly type: "STORE" | "RETRIEVAL";
  status: "PENDING" | "ACCEPTED" | "REJECTED";
  readonly subject: Subject;
  readonly wanted: readonly { readonly sampleContainerId: string; readonly description: string }[];
  readonly vials: readonly Vial[];
  procedureId: number | null;
  readonly createdAt: string;
  acceptedAt?: string;
  readonly dueAt: number;
}

export interface Work {
  readonly id: number;
  readonly type: "STORE" | "RETRIEVAL" | "REFILL";
  status: "PENDING" | "CREATED" | "IN_PROGRESS" | "COMPLETED" | "CANCELLED" | "FAILED";
  readonly facilityId: number;
  readonly subject?: Subject;
  readonly vials: readonly Vial[];
  readonly demandId?: number;
  readonly createdAt: string;
  startedAt?: string;
  completedAt?: string;
  dueAt: number;
}

const STAFF_MS = 60;
const DEVICE_MS = 50;
const iso = (at: number) => new Date(at).toISOString();

/** Ids of this house are large: the last few hundred thousand that a double can hold exactly. */
const FIRST_ID = Number.MAX_SAFE_INTEGER - 400_000;

export class Records {
  readonly subjects = new Map<number, Subject>();
  readonly vials = new Map<number, Vial>();
  readonly demands = new Map<number, Demand>();
  readonly works = new Map<number, Work>();
  readonly #organizationOf: ReadonlyMap<number, string>;
  #lastId = FIRST_ID;

  constructor(organizationOf: ReadonlyMap<number, string>) {
    this.#organizationOf = organizationOf;
    for (const facilityId of organizationOf.keys()) this.#begin(facilityId);
  }

  nextId(): number {
    this.#lastId += 7;
    return this.#lastId;
  }

  isSeenBy(organization: string, facilityId: number): boolean {
    return this.#organizationOf.get(facilityId) === organization;
  }

  addSubject(facilityId: number, person: Omit<Subject, "id" | "facilityId" | "createdAt">): Subject {
    const subject = { id: this.nextId(), facilityId, ...person, createdAt: iso(Date.now()) };
    this.subjects.set(subject.id, subject);
    return subject;
  }

  addVials(subject: Subject, wanted: readonly { name: string; description: string }[]): Vial[] {
    return wanted.map(({ name, description }) => {
      const { facilityId, id, code } = subject;
      const vial: Vial = { id: this.nextId(), facilityId, subject: { id, code }, name, description };
      this.vials.set(vial.id, vial);
      return vial;
    });
  }

  addDemand(part: Pick<Demand, "type" | "subject" | "wanted" | "vials">): Demand {
    const now = Date.now();
    const rest = {
      status: "PENDING",
      procedureId: null,
      createdAt: iso(now),
      dueAt: now + STAFF_MS,
    } as const;
    const demand: Demand = { id: this.nextId(), ...part, ...rest };
    this.demands.set(demand.id, demand);
    return demand;
  }

  addWork(part: Pick<Work, "type" | "status" | "facilityId" | "vials"> & Partial<Work>): Work {
    const now = Date.now();
    const work: Work = { id: this.nextId(), createdAt: iso(now), dueAt: now + STAFF_MS, ...part };
    this.works.set(work.id, work);
    return work;
  }

  /** Does what staff and devices did since the last look. */
  catchUp(): void {
    const now = Date.now();
    for (const demand of this.demands.values()) {
      if (demand.status === "PENDING" && demand.dueAt <= now) this.#review(demand, now);
    }
    for (const work of this.works.values()) while (work.dueAt <= now && this.#advance(work));
  }

  #review(demand: Demand, now: number): void {
    const labels = [...demand.wanted.map((one) => one.sampleContainerId), ...demand.vials.map((v) => v.name)];
    if (labels.some((label) => label.includes("REJECT"))) {
      demand.status = "REJECTED";
      return;
    }
    const wanted = demand.wanted.map((one) => ({
      name: one.sampleContainerId,
      description: one.description,
    }));
    const vials = demand.type === "STORE" ? this.addVials(demand.subject, wanted) : demand.vials;
    const { type, subject, id: demandId } = demand;
    const { facilityId } = subject;
    const work = this.addWork({
      type,
      subject,
      demandId,
      facilityId,
      vials,
      status: "CREATED",
      dueAt: now + DEVICE_MS,
    });
    demand.status = "ACCEPTED";
    demand.acceptedAt = iso(now);
    demand.procedureId = work.id;
  }

  /** One step of a procedure; false when it has come to its end. */
  #advance(work: Work): boolean {
    const at = work.dueAt;
    work.dueAt = at + DEVICE_MS;
    if (work.status === "PENDING") {
      work.status = work.vials.some(({ name }) => name.includes("REJECT")) ? "CANCELLED" : "CREATED";
    } else if (work.status === "CREATED") {
      work.status = "IN_PROGRESS";
      work.startedAt = iso(at);
    } else if (work.status === "IN_PROGRESS") {
      work.status = work.vials.some(({ name }) => name.includes("FAIL")) ? "FAILED" : "COMPLETED";
      if (work.status === "COMPLETED") this.#complete(work, iso(at));
    }
    return work.status === "CREATED" || work.status === "IN_PROGRESS";
  }

  #complete(work: Work, storedAt: string): void {
    work.completedAt = storedAt;
    for (const [index, vial] of work.vials.entries()) {
      if (work.type === "STORE") vial.place = { canister: "C3", cane: `Cane ${index + 1}`, storedAt };
      // What was taken out is not in this house's stock any more.
      else this.vials.delete(vial.id);
    }
  }

  /** What was here before the first call: other people's samples, and a refill that a device began. */
  #begin(facilityId: number): void {
    for (let n = 0; n < 70; n += 1) {
      const person = {
        code: `OLD-${n}`,
        firstName: "Old",
        lastName: `Friend ${n}`,
        dateOfBirth: "1970-05-05",
      };
      const subject = this.addSubject(facilityId, person);
      const description = "kept since the move";
      const wanted = [{ sampleContainerId: `OLD-VIAL-${n}`, description }];
      this.addDemand({ type: "STORE", subject, wanted, vials: [] });
    }
    this.addWork({ type: "REFILL", status: "CREATED", facilityId, vials: [] });
  }
}
