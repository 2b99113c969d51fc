import { replaceClients } from "../daemon.ts";
import { replaceFiles } from "../files.ts";
import type { SimulatedLedger } from "../ledger/ledger.ts";
import type { LedgerUser } from "../ledger/step.ts";
import type { Plan } from "../plan.ts";
import { replaceSignals } from "../signals.ts";
import { replaceTimers, World } from "../world.ts";
import { type HistoryEnd, runHistory } from "./history.ts";
import { SettingsOfPlans } from "./settings.ts";

/** Runs histories on a ledger of their own, one after the other. */
export class Histories {
  readonly #ledger: SimulatedLedger;
  readonly #settings = new SettingsOfPlans();

  constructor(ledger: SimulatedLedger) {
    this.#ledger = ledger;
  }

  async close(): Promise<void> {
    this.#settings.close();
    await this.#ledger.close();
  }

  async run(plan: Plan): Promise<HistoryEnd> {
    const settings = await this.#settings.of(plan);
    const world = new World(plan.chance);
    const { random } = Math;
    Math.random = world.random;
    const users = new Map<string, LedgerUser>();
    const restore = replaceClients((application) =>
      this.#ledger.sessionOf(users.get(application) as LedgerUser),
    );
    await this.#ledger.begin(world, plan.chance);
    const restoreTimers = replaceTimers();
    const restoreFiles = replaceFiles();
    const restoreSignals = replaceSignals();
    try {
      return await runHistory(plan, { world, ledger: this.#ledger, settings, users });
    } finally {
      restoreSignals();
      restoreFiles();
      restoreTimers();
      await this.#ledger.end();
      restore();
      Math.random = random;
    }
  }
}
