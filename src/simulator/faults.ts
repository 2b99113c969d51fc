import { z } from "zod";
import { behaviourSchema } from "./behaviour.ts";
import { type Random, share, spread } from "./chance.ts";

const lost = z.enum(["drop", "close", "hang"]);

/** Which calls a rule meets. */
const meets = {
  /** Name under which the tally counts it; its place in the list when absent. */
  name: z.string(),
  /** `GET`, `POST`, …; any when absent. */
  method: z.string(),
  /** A path with `*` for one segment and `**` for any rest; any when absent. */
  path: z.string().startsWith("/").describe("a path that begins with /, such as /api/procedure-requests/*"),
  /** How many matching calls are let through first. */
  skip: z.int().min(0),
  /** How many calls it meets, then it is spent; without limit when absent. */
  times: z.int().min(0),
  /** Share of matching calls that it meets, 0 to 1; all when absent. */
  probability: share,
};

/** What goes wrong with a call. */
const effects = {
  /** Executed only after this time, even when the caller has gone. Clock time, not simulated time. */
  executeAfterMs: spread,
  /** Executed at once, answered only after this time. */
  answerAfterMs: spread,
  /**
   * Nothing is done, and no answer comes: the connection is reset (`drop`), ended in good order (`close`), or stays
   * open and silent (`hang`).
   */
  before: lost,
  /** The same after the call was executed. */
  after: lost,
  /** Answered with this status and an error body. */
  status: z.int().min(200).max(599).describe("an HTTP status from 200 to 599"),
  /** The call was executed although an error `status` is answered. */
  executed: z.boolean(),
  /** `Retry-After`: seconds as a number, or any text as it stands. */
  retryAfter: z.union([z.number(), z.string()]),
  /** The answer's body: none; a gateway's page with the same status; half of it, well framed; or JSON without the ids. */
  body: z.enum(["empty", "html", "truncated", "without-ids"]),
  /** The connection ends after this many bytes of the answer, head included. */
  cutAfterBytes: z.int().min(0),
  /** The token that the call carries is revoked just before it is checked. */
  revokeToken: z.boolean(),
  /** Another behaviour for this call. */
  behave: behaviourSchema,
};

/** Reads a fault rule; unknown keys are refused. */
export const faultSchema = z.strictObject({ ...meets, ...effects }).partial();

/**
 * One scripted fault: which calls it meets, how often, and what goes wrong. The first matching rule that names an
 * effect decides it; effects of several matching rules add up. `/simulator/*` and the page are never touched.
 *
 * The steps of a call, in order: wait `executeAfterMs`; `before` (nothing done) or `status` (nothing done, unless
 * `executed`); the call is executed; wait `answerAfterMs`; then the answer, spoiled by `after`, `status`
 * with `executed`, `cutAfterBytes` or `body`.
 */
export type FaultRule = Readonly<z.infer<typeof faultSchema>>;

/** What goes wrong with one call: the effects of all rules that met it. */
export type Fault = Omit<FaultRule, keyof typeof meets>;

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

  constructor(random: Random, rules: readonly FaultRule[]) {
    this.#random = random;
    this.replace(rules);
  }

  /** Puts other rules in place of the present ones; counts begin at 0. */
  replace(rules: readonly FaultRule[]): void {
    this.#entries = rules.map((rule, index) => ({
      name: rule.name ?? `#${index + 1}`,
      rule,
      pattern: rule.path === undefined ? undefined : pathPattern(rule.path),
      matched: 0,
      hits: 0,
    }));
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
      entry.matched += 1;
      if (entry.matched <= (rule.skip ?? 0)) continue;
      if (entry.hits >= (rule.times ?? Number.POSITIVE_INFINITY)) continue;
      if (rule.probability !== undefined && !this.#random.happens(rule.probability)) continue;
      entry.hits += 1;
      fault = { ...rule, ...fault, behave: { ...rule.behave, ...fault.behave } };
    }
    return fault;
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
