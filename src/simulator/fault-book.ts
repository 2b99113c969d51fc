import type { FaultRule } from "./fault-rule.ts";
import type { Random } from "./random.ts";

/** What goes wrong with one call: the effects of all rules that met it. */
export type Fault = Omit<
  FaultRule,
  "name" | "method" | "path" | "skip" | "times" | "probability" | "fromMs" | "untilMs"
>;

interface Entry {
  readonly name: string;
  readonly rule: FaultRule;
  readonly pattern: RegExp | undefined;
  matched: number;
  hits: number;
}

/** The fault rules in force, with how often each was met. */
export class FaultBook {
  #entries: Entry[] = [];
  readonly #random: Random;
  readonly #simulatedMs: () => number;

  /** `simulatedMs` tells how much simulated time has passed, for rules with a time of their own. */
  constructor(random: Random, rules: readonly FaultRule[], simulatedMs: () => number) {
    this.#random = random;
    this.#simulatedMs = simulatedMs;
    this.replace(rules);
  }

  /** Puts other rules in place of the present ones; counts begin anew. */
  replace(rules: readonly FaultRule[]): void {
    this.#entries = [];
    for (const rule of rules) this.add(rule);
  }

  add(rule: FaultRule): void {
    this.#entries.push({
      name: rule.name ?? `#${this.#entries.length + 1}`,
      rule,
      pattern: rule.path === undefined ? undefined : pathPattern(rule.path),
      matched: 0,
      hits: 0,
    });
  }

  rules(): FaultRule[] {
    return this.#entries.map((entry) => entry.rule);
  }

  /** How many calls each rule met, by its name. */
  hits(): Record<string, number> {
    const hits: Record<string, number> = {};
    for (const entry of this.#entries) hits[entry.name] = (hits[entry.name] ?? 0) + entry.hits;
    return hits;
  }

  /** The faults that meet this call, which counts as a use of their rules. An empty object when none does. */
  meet(method: string, path: string): Fault {
    let fault: Fault = {};
    for (const entry of this.#entries) {
      const { rule, pattern } = entry;
      if (rule.method !== undefined && rule.method.toUpperCase() !== method) continue;
      if (pattern && !pattern.test(path)) continue;
      if (!this.#isTime(rule)) continue;
      entry.matched += 1;
      if (entry.matched <= (rule.skip ?? 0)) continue;
      if (entry.hits >= (rule.times ?? Number.POSITIVE_INFINITY)) continue;
      if (rule.probability !== undefined && !this.#random.happens(rule.probability)) continue;
      entry.hits += 1;
      fault = { ...rule, ...fault, behave: { ...rule.behave, ...fault.behave } };
    }
    return fault;
  }

  #isTime({ fromMs = 0, untilMs = Number.POSITIVE_INFINITY }: FaultRule): boolean {
    const passed = this.#simulatedMs();
    return passed >= fromMs && passed < untilMs;
  }
}

/** `*` stands for one segment, `**` for any rest; everything else for itself. */
function pathPattern(path: string): RegExp {
  const source = path
    .split(/(\*\*|\*)/)
    .map((part) => {
      if (part === "**") return ".*";
      if (part === "*") return "[^/]+";
      return part.replaceAll(/[\\^$.|?+()[\]{}]/g, "\\$&");
    })
    .join("");
  return new RegExp(`^${source}$`);
}
