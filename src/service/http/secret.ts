import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Secret } from "../settings.ts";

/**
 * Reads a secret again, without the line end that editors leave in secret files.
 * @throws Failure SERVICE_CREDENTIALS_REFUSED when it is empty or can't be read; `name` is the setting's.
 */
export async function readSecret(secret: Secret, name: string): Promise<string> {
  try {
    const value = (typeof secret === "string" ? secret : await secret()).trim();
    if (value !== "") return value;
  } catch (cause) {
    throw new Failure("SERVICE_CREDENTIALS_REFUSED", { message: `${name} could not be read`, cause });
  }
  throw new Failure("SERVICE_CREDENTIALS_REFUSED", `${name} is empty`);
}

/** How often a refused secret is looked at again, ms. */
const EVERY_MS = 5_000;

/**
 * Watches a secret that was refused, and calls back once it is another one, so that work goes on as soon as somebody
 * has corrected it and not only when the next try is due. One watch at a time; a secret that can't be read is waited for.
 */
export class SecretWatch {
  readonly #secret: Secret;
  readonly #clock: Clock;
  readonly #onChanged: () => void;
  readonly #stop = new AbortController();
  #isWatching = false;

  constructor(secret: Secret, clock: Clock, onChanged: () => void) {
    this.#secret = secret;
    this.#clock = clock;
    this.#onChanged = onChanged;
  }

  /** Begins to watch for another value than `refused`; undefined when none could be read. A fixed secret never changes. */
  start(refused: string | undefined): void {
    if (this.#isWatching || typeof this.#secret === "string" || this.#stop.signal.aborted) return;
    this.#isWatching = true;
    this.#watch(refused).finally(() => {
      this.#isWatching = false;
    });
  }

  /** Ends the watch for good. */
  close(): void {
    this.#stop.abort();
  }

  async #watch(refused: string | undefined): Promise<void> {
    try {
      for (;;) {
        await this.#clock.sleep(EVERY_MS, this.#stop.signal);
        const value = await readSecret(this.#secret, "the secret").catch(() => undefined);
        if (this.#stop.signal.aborted) return;
        if (value !== undefined && value !== refused) return this.#onChanged();
      }
    } catch {
      // The sleep ends so when the watch is closed.
    }
  }
}
