import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { ServiceContainer, ServiceSubject } from "../../service/shapes.ts";
import type { Completed } from "./news.ts";

type Calls = Pick<ServiceCalls, "findSubject" | "listSubjectContainers" | "readContainers">;

/** Pages by ids that orders share may cost as many calls as half of them would cost by themselves. */
const ORDERS_A_PAGE = 2;

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
  /** Orders whose containers are to be identified, by the ids that their procedures name. */
  #expected: readonly Completed[] = [];
  #named: Promise<ReadonlyMap<number, ServiceContainer>> | undefined;

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
    const isShared = this.#isShared(code);
    const asked = { surface, subjectCode: code, ids: isShared ? undefined : ids };
    const list = () => this.#service.listSubjectContainers(asked, this.#signal);
    return this.#once(`containers ${surface}`, code, list);
  }

  /** The subject that has the code in a facility. */
  findSubject(facilityId: number, code: Phi): Promise<ServiceSubject | undefined> {
    const find = () => this.#service.findSubject(facilityId, code, this.#signal);
    return this.#once(`subject ${facilityId}`, code, find);
  }

  #isShared(code: Phi): boolean {
    return this.#shared.has(code.reveal());
  }

  /** Announces orders whose containers have no ids yet: read together, they cost less. */
  expect(orders: readonly Completed[]): void {
    this.#expected = orders;
  }

  /**
   * The containers that the procedure of an order names, from pages that it shares with the others that are expected. Undefined
   * where they don't show all of these, each as the subject's; its own list is to be asked then.
   */
  async listNamed(
    { subject, subjectId }: Completed["order"],
    named: readonly number[],
  ): Promise<readonly ServiceContainer[] | undefined> {
    if (this.#expected.length < ORDERS_A_PAGE || named.length === 0) return undefined;
    const found = await this.#readNamed();
    const isOurs = (each: ServiceContainer) =>
      each.subjectCode?.reveal() === subject.code.reveal() &&
      (each.subjectId === undefined || each.subjectId === subjectId);
    const shown = named.map((id) => found.get(id));
    return shown.every((each) => each !== undefined && isOurs(each))
      ? (shown as ServiceContainer[])
      : undefined;
  }

  #readNamed(): Promise<ReadonlyMap<number, ServiceContainer>> {
    this.#named ??= this.#service.readContainers(
      {
        ids: new Set(this.#expected.flatMap(({ procedure }) => procedure?.containerIds ?? [])),
        mostPages: Math.ceil(this.#expected.length / ORDERS_A_PAGE),
      },
      this.#signal,
    );
    return this.#named;
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
