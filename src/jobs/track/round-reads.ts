import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { ServiceContainer, ServiceSubject } from "../../service/shapes.ts";

type Calls = Pick<ServiceCalls, "findSubject" | "listSubjectContainers" | "external">;

/**
 * What several orders of one round ask alike: orders of one subject share its containers, and who the subject is. Each of them
 * completed before the round began, so what is read within it is late enough for all. What failed is asked for again by the next
 * order that needs it.
 */
export class RoundReads {
  readonly #service: Calls;
  readonly #signal: AbortSignal;
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Subject codes of more than one order; what one order alone asks for is not kept. */
  readonly #shared: ReadonlySet<string>;

  /** @param codes of the round's orders, one for each */
  constructor(codes: readonly Phi[], service: Calls, signal: AbortSignal) {
    this.#service = service;
    this.#signal = signal;
    const seen = new Set<string>();
    const twice = codes.map((code) => code.reveal()).filter((code) => seen.size === seen.add(code).size);
    this.#shared = new Set(twice);
  }

  /**
   * What a surface lists for a subject's code; somebody else's containers where another facility has the same code.
   *
   * @param ids the containers that are looked for, of which the list may end with the last; all when undefined
   */
  listContainers(surface: Surface, code: Phi, ids?: readonly number[]): Promise<readonly ServiceContainer[]> {
    const calls = surface === "external" ? this.#service.external : this.#service;
    if (!this.#isShared(code)) return calls.listSubjectContainers(code, this.#signal, ids);
    return this.#once(`containers ${surface}`, code, () => calls.listSubjectContainers(code, this.#signal));
  }

  /** The subject that has the code in a facility. */
  findSubject(facilityId: number, code: Phi): Promise<ServiceSubject | undefined> {
    const find = () => this.#service.findSubject(facilityId, code, this.#signal);
    return this.#once(`subject ${facilityId}`, code, find);
  }

  #isShared(code: Phi): boolean {
    return this.#shared.has(code.reveal());
  }

  #once<T>(question: string, code: Phi, ask: () => Promise<T>): Promise<T> {
    if (!this.#isShared(code)) return ask();
    const key = `${question} ${code.reveal()}`;
    const known = this.#reads.get(key) as Promise<T> | undefined;
    if (known) return known;
    const read = ask();
    this.#reads.set(key, read);
    read.catch(() => this.#reads.delete(key));
    return read;
  }
}
