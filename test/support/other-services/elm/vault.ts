/** Elm's vault: what it holds, and the one hand that moves it. Everything that is to happen is due at a time and done when next asked. */

export interface Person {
  readonly id: number;
  readonly house: House;
  readonly code: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly createdAt: string;
}

export interface House {
  readonly id: number;
  readonly name: string;
  readonly owner: string;
  readonly tank: { readonly id: number; readonly name: string };
}

export interface Straw {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly person: Person;
  place?: { readonly canister: string; readonly cane: string };
  storedAt?: string;
}

export interface Task {
  readonly id: number;
  readonly house: House;
  readonly type: "STORE" | "RETRIEVAL";
  readonly person: Person;
  readonly straws: readonly Straw[];
  readonly createdAt: string;
  status: "PENDING" | "CREATED" | "IN_PROGRESS" | "COMPLETED" | "CANCELLED" | "FAILED";
  completedAt?: string;
  /** When it moves on. */
  due: number;
}

export const HOUSES: readonly House[] = [
  { id: 501, name: "Elm North", owner: "ours", tank: { id: 71, name: "Dewar N" } },
  { id: 502, name: "Elm South", owner: "ours", tank: { id: 72, name: "Dewar S" } },
  { id: 503, name: "Elsewhere", owner: "theirs", tank: { id: 73, name: "Dewar X" } },
];

const STRAWS_ON_A_CANE = 6;
const CANES_IN_A_CANISTER = 10;

export class Vault {
  readonly people: Person[] = [];
  readonly straws: Straw[] = [];
  readonly tasks: Task[] = [];
  readonly #stepMs: number;
  #lastId = 9_000;
  #lastPlace = -1;

  /** @param stepMs how long each of staff's and the device's steps takes */
  constructor(stepMs: number) {
    this.#stepMs = stepMs;
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  receive(task: Omit<Task, "id" | "createdAt" | "status" | "due">): Task {
    const made: Task = {
      id: this.nextId(),
      ...task,
      createdAt: new Date().toISOString(),
      status: "PENDING",
      due: Date.now() + this.#stepMs,
    };
    this.tasks.push(made);
    return made;
  }

  /** Does what has become due by now. */
  catchUp(): void {
    for (const task of this.tasks) while (task.due <= Date.now()) this.#step(task);
  }

  #step(task: Task): void {
    const names = task.straws.map(({ name }) => name).join(" ");
    task.due += this.#stepMs;
    switch (task.status) {
      case "PENDING":
        task.status = names.includes("REJECT") ? "CANCELLED" : "CREATED";
        break;
      case "CREATED":
        task.status = "IN_PROGRESS";
        break;
      case "IN_PROGRESS":
        task.status = names.includes("FAIL") ? "FAILED" : "COMPLETED";
        if (task.status === "COMPLETED") this.#move(task);
        break;
    }
    if (["CANCELLED", "FAILED", "COMPLETED"].includes(task.status)) task.due = Number.POSITIVE_INFINITY;
  }

  #move(task: Task): void {
    task.completedAt = new Date().toISOString();
    for (const straw of task.straws) {
      if (task.type === "RETRIEVAL") {
        delete straw.place;
        delete straw.storedAt;
        continue;
      }
      this.#lastPlace += 1;
      const cane = Math.floor(this.#lastPlace / STRAWS_ON_A_CANE);
      straw.place = {
        canister: `C${1 + Math.floor(cane / CANES_IN_A_CANISTER)}`,
        cane: `${1 + (cane % CANES_IN_A_CANISTER)}`,
      };
      straw.storedAt = task.completedAt;
    }
  }
}
