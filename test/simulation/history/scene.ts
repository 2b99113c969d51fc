import type { Settings } from "../../../src/app/configuration.ts";
import type { Role } from "../../../src/core/role.ts";
import { Machine, type Site } from "../daemon.ts";
import { FOLDER } from "../files.ts";
import { type LabOrder, SimulatedLab } from "../lab.ts";
import type { SimulatedLedger } from "../ledger/ledger.ts";
import type { LedgerUser, Strike } from "../ledger/step.ts";
import { type CallFate, SimulatedNetwork } from "../network.ts";
import { ordersOf } from "../oracles.ts";
import type { Plan } from "../plan.ts";
import { SimulatedQueues } from "../queues.ts";
import { type Request, SimulatedService } from "../service.ts";
import type { World } from "../world.ts";
import { GIVE_UP_MS, TIMEOUT_MS } from "./settings.ts";

/** A late call arrives after this, or so long before it is given up that a list which lags still shows it, ms. */
const LATE_MS = 9_000;
const SHOWN_BEFORE_MS = 1_500;
/**
 * That nothing was done is believed of these answers after one look, so where lists lag, no gateway gives them that has passed the
 * call on.
 */
const TRUE_REFUSALS: Partial<Record<CallFate, CallFate>> = {
  "429 after": "429 before",
  "401 after": "401 before",
};
/** What a history is given. */
export interface Given {
  readonly world: World;
  readonly ledger: SimulatedLedger;
  readonly settings: Settings;
  /** Who has which name for its sessions. */
  readonly users: Map<string, LedgerUser>;
}

/** What happens to a machine's daemon at a statement, if anything does. */
export type StrikeAt = (machine: Machine, text: string) => Strike | undefined;

/** All that takes part in a history, and what its plan has the network, the ledger and the lab do. */
export class Scene {
  readonly plan: Plan;
  readonly world: World;
  readonly ledger: SimulatedLedger;
  readonly settings: Settings;
  readonly service: SimulatedService;
  readonly network: SimulatedNetwork;
  readonly queues: SimulatedQueues;
  readonly machines: readonly Machine[];
  readonly lab: SimulatedLab;
  readonly orders: readonly LabOrder[];
  /** Every label that each order ever asked for. */
  readonly labelsOf = new Map<string, string[]>();
  /** What the history came by, and how often. */
  readonly covered = new Map<string, number>();
  /** How often a person had a failed order done again. */
  readonly doneAgain = new Map<string, number>();
  /** Orders that a person had go on in spite of what the program had found. */
  readonly overridden = new Set<string>();
  /** When a person had an order go on that was on hold, ms. */
  readonly released: { readonly number: string; readonly at: number }[] = [];
  /** Orders that a person could not get done, whatever the program said to do. */
  readonly givenUp = new Set<string>();
  /** Whether the ledger was put back to an older copy. */
  wasPutBack = false;
  /** Nothing goes wrong any more. */
  isQuiet = false;
  /** When a daemon that was frozen woke up last. */
  wokenAt = 0;
  ledgerAwayUntil = 0;
  /** Whether a person is at something. */
  isBusy = false;

  constructor(plan: Plan, { world, ledger, settings, users }: Given, strikeAt: StrikeAt) {
    this.plan = plan;
    this.world = world;
    this.ledger = ledger;
    this.settings = settings;
    this.service = new SimulatedService(world, plan.service);
    this.network = new SimulatedNetwork(world, this.service, {
      timeoutMs: TIMEOUT_MS,
      lateMs: Math.min(LATE_MS, GIVE_UP_MS - plan.service.listLagMs - SHOWN_BEFORE_MS),
      fateOf: (kind, nth) => {
        if (this.isQuiet) return undefined;
        const fate = plan.calls.find((each) => each.kind === kind && each.nth === nth)?.fate;
        const isLagging = plan.service.listLagMs > 0;
        return isLagging && fate !== undefined ? (TRUE_REFUSALS[fate] ?? fate) : fate;
      },
    });
    this.queues = new SimulatedQueues(world);
    const steps = new Map<string, number>();
    const site: Site = {
      ...{ world, ledger, network: this.network, queues: this.queues, settings, users },
      epochFileOf: (daemon) => epochFileOf(daemon),
      connectorOf: (actor) => this.lab.connectorOf(actor),
      ledgerFateOf: (daemon) => {
        if (this.isQuiet) return "done";
        if (world.now < this.ledgerAwayUntil) return "refused";
        const nth = (steps.get(daemon) ?? 0) + 1;
        steps.set(daemon, nth);
        const fate = plan.ledger.find(
          (each) => `daemon ${each.daemon + 1}` === daemon && each.nth === nth,
        )?.fate;
        if (fate !== undefined) world.say(daemon, `a step of the ledger is ${fate}`);
        return fate ?? "done";
      },
      strikeAt: (machine, text) => strikeAt(machine, text),
    };
    const shared: readonly Role[] = plan.isIntakeApart ? ["worker"] : ["intake", "worker"];
    const roles = Array.from({ length: plan.daemons }, () => shared);
    this.machines = (plan.isIntakeApart ? [...roles, ["intake" as const]] : roles).map(
      (own, index) => new Machine(site, `daemon ${index + 1}`, new Set(own)),
    );
    this.lab = new SimulatedLab(world, this.machines, (nth) =>
      this.isQuiet ? undefined : plan.results.find((each) => each.nth === nth)?.fate,
    );
    this.orders = plan.orders.map(({ operation, subject, same }, index) => ({
      ...{ number: `P-${index + 1}`, operation, subject: `S-${subject + 1}` },
      label: `V-${(same ?? index) + 1}`,
    }));
    for (const { number, label } of this.orders) this.labelsOf.set(number, [label]);
  }

  count(what: string, times = 1): void {
    this.covered.set(what, (this.covered.get(what) ?? 0) + times);
  }

  /** Others have stored what an order is to fetch. */
  addStored({ subject }: LabOrder, label: string): void {
    const who = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    this.service.addStored({ facilityId: 12, code: subject, ...who }, label);
  }

  /** What the service has of an order. */
  requestsOf(number: string | undefined): Request[] {
    return this.service.requests.filter((each) => ordersOf(this, each).some((one) => one.number === number));
  }
}

/** Where a daemon keeps its epoch. */
export function epochFileOf(daemon: string): string {
  return `${FOLDER}/${daemon}.epoch`;
}
