/** Dogwood's front desk and its one robot. Everything that is to happen is a timer, cleared when the house closes. */

export interface Tube {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly subjectCode: string;
  readonly owner: string;
  rfid?: string;
  place?: { readonly canister: string; readonly cane: string };
  storedAt?: string;
}

export interface Procedure {
  readonly id: number;
  readonly owner: string;
  readonly facility: { readonly id: number; readonly name: string };
  readonly type: "STORE" | "RETRIEVAL" | "REFILL";
  readonly subjectCode?: string;
  readonly tubes: readonly Tube[];
  readonly createdAt: string;
  status: "PENDING" | "CREATED" | "IN_PROGRESS" | "COMPLETED" | "CANCELLED" | "FAILED";
  completedAt?: string;
}

const STEP_MS = 40;
/** The robot reports a procedure as done before it has sent where things are. */
const PLACES_COME_AFTER_MS = 250;

export class Desk {
  readonly procedures: Procedure[] = [];
  readonly tubes: Tube[] = [];
  readonly #subjectIds = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #last = 20_261_121_000_000;

  nextId(): number {
    this.#last += 1;
    return this.#last;
  }

  subjectId(owner: string, code: string): number {
    const key = `${owner} ${code}`;
    const id = this.#subjectIds.get(key) ?? this.nextId();
    this.#subjectIds.set(key, id);
    return id;
  }

  receive(part: Omit<Procedure, "id" | "createdAt" | "status">): Procedure {
    const procedure: Procedure = {
      id: this.nextId(),
      ...part,
      createdAt: new Date().toISOString(),
      status: "PENDING",
    };
    this.procedures.push(procedure);
    if (procedure.type === "STORE") this.#tag(procedure);
    else this.#later(STEP_MS, () => this.#clear(procedure));
    return procedure;
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** A tag for each tube, one after the other; only then can the robot know them. */
  #tag(procedure: Procedure): void {
    const bare = procedure.tubes.find((tube) => tube.rfid === undefined);
    if (!bare) {
      this.#clear(procedure);
      return;
    }
    this.#later(STEP_MS, () => {
      bare.rfid = `E280${bare.id}`;
      this.#tag(procedure);
    });
  }

  #clear(procedure: Procedure): void {
    if (procedure.tubes.some(({ name }) => name.includes("REJECT"))) {
      procedure.status = "CANCELLED";
      return;
    }
    procedure.status = "CREATED";
    this.#later(STEP_MS, () => {
      procedure.status = "IN_PROGRESS";
      this.#later(STEP_MS, () => this.#finish(procedure));
    });
  }

  #finish(procedure: Procedure): void {
    if (procedure.tubes.some(({ name }) => name.includes("FAIL"))) {
      procedure.status = "FAILED";
      return;
    }
    procedure.status = "COMPLETED";
    procedure.completedAt = new Date().toISOString();
    this.#later(PLACES_COME_AFTER_MS, () => {
      for (const [index, tube] of procedure.tubes.entries()) {
        if (procedure.type === "STORE") {
          tube.place = { canister: "D", cane: String(index + 1) };
          tube.storedAt = procedure.completedAt ?? "";
        } else {
          delete tube.place;
          delete tube.storedAt;
        }
      }
    });
  }

  #later(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}
