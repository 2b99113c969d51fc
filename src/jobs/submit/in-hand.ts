/**
 * The orders that this process works on, by their fences. What the ledger has for it besides, because the ledger was away when an order was to
 * be given back or a claim was not answered, lies idle, and is given back by the feeder. A claim and that look at the ledger
 * never run at once: the look would take what was claimed meanwhile for idle.
 */
export class InHand {
  readonly #fences = new Set<number>();
  readonly #claims = new Set<Promise<unknown>>();
  #sweeping: Promise<unknown> | undefined;

  /** Claims orders, which count as worked on from then on. */
  async claim<T extends { readonly fence: number | undefined }>(take: () => Promise<T[]>): Promise<T[]> {
    while (this.#sweeping) await this.#sweeping.catch(() => undefined);
    const claiming = take();
    this.#claims.add(claiming);
    try {
      const taken = await claiming;
      for (const { fence } of taken) if (fence !== undefined) this.#fences.add(fence);
      return taken;
    } finally {
      this.#claims.delete(claiming);
    }
  }

  /** An order isn't worked on any more. */
  done(fence: number | undefined): void {
    if (fence !== undefined) this.#fences.delete(fence);
  }

  /** Looks for what lies idle; nothing while a claim is under way, or another look. */
  async sweep<T>(look: (inHand: readonly number[]) => Promise<T>): Promise<T | undefined> {
    if (this.#claims.size > 0 || this.#sweeping) return undefined;
    const looking = look([...this.#fences]);
    this.#sweeping = looking;
    try {
      return await looking;
    } finally {
      this.#sweeping = undefined;
    }
  }
}
