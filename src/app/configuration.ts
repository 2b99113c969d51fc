import type { Config } from "../config/config.ts";
import { AS_IT_WAS, isSameConnector, takeOver } from "../config/take-over.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../mapping/profile/schema.ts";

/** A configuration and its compiled profiles. */
export interface Settings {
  readonly config: Config<ProfileDefinition>;
  readonly profiles: ReadonlyMap<string, Profile>;
}

/**
 * What a daemon works by. What can change while it runs (`src/config/take-over.ts`) changes in these same objects, so it is to be
 * read from them where it is used; what is made of it beforehand is made by {@link Configuration.derive}, and what must not change
 * halfway {@link Configuration.hold}s it.
 */
export class Configuration implements Settings {
  readonly config: Config<ProfileDefinition>;
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly #compiled: Map<string, Profile>;
  readonly #prepares = new Set<(next: Settings) => () => void>();
  #holds = 0;
  #onFree: (() => void) | undefined;
  #changing: Promise<void> | undefined;

  constructor({ config, profiles }: Settings) {
    this.config = { ...config };
    this.#compiled = new Map(profiles);
    this.profiles = this.#compiled;
  }

  /**
   * A value made of the configuration, and made anew when another one is taken over.
   * @param make throws Failure CONFIG_INVALID for a configuration that can't be worked by; then nothing of that is taken over
   */
  derive<T>(make: (settings: Settings) => T): () => T {
    let value = make(this);
    this.#prepares.add((next) => {
      const made = make(next);
      return () => {
        value = made;
      };
    });
    return () => value;
  }

  /**
   * Keeps the configuration as it is until the returned function is called; waits where another one is about to be taken over.
   * Who holds it must not ask for it again.
   */
  async hold(): Promise<() => void> {
    while (this.#changing) await this.#changing;
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      if (this.#holds === 0) this.#onFree?.();
    };
  }

  /** @throws Failure CONFIG_INVALID where this configuration could not be taken over */
  check(read: Settings): void {
    this.#prepare(read);
  }

  /**
   * Takes over what can be taken over of a configuration that was read, all of it at once or nothing, as soon as nobody holds the
   * present one. One call at a time.
   * @throws Failure CONFIG_INVALID; the signal's reason when it is aborted while somebody holds the present one
   */
  async takeOver(read: Settings, signal: AbortSignal): Promise<void> {
    const commit = this.#prepare(read);
    const changing = Promise.withResolvers<void>();
    this.#changing = changing.promise;
    try {
      if (this.#holds > 0)
        await new Promise<void>((resolve) => {
          this.#onFree = resolve;
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      signal.throwIfAborted();
      commit();
    } finally {
      this.#onFree = undefined;
      this.#changing = undefined;
      changing.resolve();
    }
  }

  #prepare(read: Settings): () => void {
    const next = this.#withKeptProfiles({ ...read, config: takeOver(this.config, read.config) }, read.config);
    const commits = [...this.#prepares].map((prepare) => prepare(next));
    return () => {
      Object.assign(this.config, next.config);
      this.#compiled.clear();
      for (const [name, profile] of next.profiles) this.#compiled.set(name, profile);
      for (const commit of commits) commit();
    };
  }

  /** Connectors that the file does not have any more run until the restart, by the profile that they have. */
  #withKeptProfiles(next: Settings, file: Settings["config"]): Settings {
    const profiles = new Map(next.profiles);
    const connectors = next.config.connectors.map((own) => {
      const profile = this.profiles.get(own.profile);
      if (!profile || file.connectors.some((each) => isSameConnector(each, own))) return own;
      const name = profiles.has(own.profile) ? `${own.profile}${AS_IT_WAS}` : own.profile;
      profiles.set(name, profile);
      return { ...own, profile: name };
    });
    return { config: { ...next.config, connectors }, profiles };
  }
}
