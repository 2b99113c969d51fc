/**
 * Cedar's world is a list of facts with the time from which each is true: nothing moves by itself, a reader asks what
 * is true at its own time. So a list that lags is the same world read a little earlier.
 */

export interface Thing {
  readonly id: number;
  readonly site: number;
  readonly bornAt: number;
}

export interface Person extends Thing {
  readonly code: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly dateOfBirth: string;
}

export interface Straw extends Thing {
  readonly person: Person;
  readonly label: string;
  readonly description: string;
  storedAt: number;
}

export interface Job extends Thing {
  readonly type: "STORE" | "RETRIEVAL";
  readonly person: Person;
  readonly straws: readonly Straw[];
  /** The request that staff review first, or undefined on the external surface. */
  readonly requestId: number | undefined;
  readonly steps: readonly (readonly [number, string])[];
}

/** How far a list is behind a single read. */
export const LIST_LAG_MS = 250;
const REVIEW_MS = 120;
const HOLD_MS = 150;

export function createWorld() {
  const people: Person[] = [];
  const straws: Straw[] = [];
  const jobs: Job[] = [];
  let lastId = 4_000;
  const nextId = () => (lastId += 1);

  return {
    people,
    straws,
    jobs,
    addPerson(site: number, who: Omit<Person, keyof Thing>): Person {
      const person = { id: nextId(), site, bornAt: Date.now(), ...who };
      people.push(person);
      return person;
    },
    addStraw(person: Person, label: string, description: string): Straw {
      const straw: Straw = {
        id: nextId(),
        site: person.site,
        bornAt: Date.now(),
        person,
        label,
        description,
        storedAt: Number.POSITIVE_INFINITY,
      };
      straws.push(straw);
      return straw;
    },
    /** A job's whole life is decided when it is asked for: from waiting it jumps to its end, some by way of a hold. */
    addJob(type: Job["type"], person: Person, own: readonly Straw[], isReviewed: boolean): Job {
      const bornAt = Date.now();
      const id = nextId();
      const has = (mark: string) => own.some(({ label }) => label.includes(mark));
      const acts = bornAt + REVIEW_MS;
      const end = acts + (id % 2 === 0 ? HOLD_MS : 0);
      const last = has("REJECT")
        ? isReviewed
          ? "REJECTED"
          : "CANCELLED"
        : has("FAIL")
          ? "FAILED"
          : "COMPLETED";
      const steps: [number, string][] = [[bornAt, "PENDING"]];
      if (end > acts && last !== "REJECTED") steps.push([acts, "ON_HOLD"]);
      steps.push([end, last]);
      const requestId = isReviewed ? nextId() : undefined;
      const job: Job = { id, site: person.site, bornAt, type, person, straws: own, requestId, steps };
      if (last === "COMPLETED" && type === "STORE") for (const straw of own) straw.storedAt = end;
      jobs.push(job);
      return job;
    },
  };
}

export type World = ReturnType<typeof createWorld>;

/** The status of a job at a time. */
export function statusAt(job: Job, at: number): string {
  return job.steps.findLast(([from]) => from <= at)?.[1] ?? "PENDING";
}

/** When a job came to a status, or undefined. */
export function since(job: Job, status: string): number | undefined {
  return job.steps.find(([, word]) => word === status)?.[0];
}

/** A time as Cedar writes it: local time with milliseconds and offset. */
export function local(at: number | undefined): string | null {
  if (at === undefined || !Number.isFinite(at)) return null;
  return new Date(at + 5.5 * 3_600_000).toISOString().replace("Z", "+05:30");
}
