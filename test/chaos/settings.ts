/** How long and how hard the chaos runs are; each can be set in the environment. */
export interface ChaosSettings {
  /** CRYOBRIDGE_CHAOS_SEED: the first run's seed, later runs count on from it. Random when not set. */
  readonly seed: number;
  /** CRYOBRIDGE_CHAOS_RUNS: how many runs of each kind, each with its own seed. */
  readonly runs: number;
  /** CRYOBRIDGE_CHAOS_ORDERS */
  readonly orders: number;
  /** CRYOBRIDGE_CHAOS_KILLS */
  readonly kills: number;
  /** CRYOBRIDGE_CHAOS_CUTS: how often the power is cut in a run. */
  readonly cuts: number;
}

/** The settings of this run. @throws RangeError for a value that is no whole number. */
export function readSettings(env: NodeJS.ProcessEnv): ChaosSettings {
  const read = (name: string, otherwise: number): number => {
    const text = env[`CRYOBRIDGE_CHAOS_${name}`];
    if (text === undefined) return otherwise;
    if (!/^\d{1,9}$/.test(text)) throw new RangeError(`CRYOBRIDGE_CHAOS_${name} is no whole number`);
    return Number(text);
  };
  return {
    seed: read("SEED", Math.floor(Math.random() * 1_000_000)),
    runs: read("RUNS", 1),
    orders: read("ORDERS", 100),
    kills: read("KILLS", 10),
    cuts: read("CUTS", 20),
  };
}
