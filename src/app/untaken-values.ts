import { type Trouble, trouble } from "../core/alert.ts";
import type { Clock } from "../core/clock.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { counted } from "../operator/text.ts";

/** For how long it is said after the last one, ms. */
const SAID_FOR_MS = 86_400_000;

interface Seen {
  readonly connector: string;
  readonly column: string;
  /** By which they were composed: with another one they may be taken. */
  readonly profile: Profile;
  readonly values: number;
  readonly lastAt: number;
}

/** Values of result columns that the columns' transforms don't take: the lab reads them as they came, in English mostly. */
export class UntakenValues {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** One more value of a column. */
  note(connector: string, column: string, profile: Profile): void {
    const key = JSON.stringify([connector, column]);
    const before = this.#seen.get(key);
    const values = before?.profile === profile ? before.values + 1 : 1;
    this.#seen.set(key, { connector, column, profile, values, lastAt: this.#clock.monotonic() });
  }

  /**
   * What of it is less than a day old.
   *
   * @param profileOf a connector's profile as it is now: what was composed by an earlier one is corrected, or seen again
   */
  troubles(profileOf: (connector: string) => Profile | undefined): Trouble[] {
    const since = this.#clock.monotonic() - SAID_FOR_MS;
    return [...this.#seen.values()]
      .filter(({ connector, profile, lastAt }) => lastAt > since && profileOf(connector) === profile)
      .map(({ connector, column, values }) => {
        const text = `connector ${connector}: the lab read ${counted(values, "value")} of the column ${column} as they came, since the profile's transforms don't take them; \`cryobridge check\` names the words`;
        return { ...trouble("daemonTrouble", `${connector} ${column}`, text), level: "look" };
      });
  }
}
