import type { Coverage } from "./coverage.ts";
import { expectLinear } from "./growth.ts";
import { mutate } from "./mutate.ts";
import { Random } from "./random.ts";
import { Fault, type Target } from "./target.ts";

/** A fault and the input that shows it, made as small as it went. */
export interface Finding {
  readonly words: string;
  readonly input: Buffer;
  /** How many inputs had been run. */
  readonly after: number;
}

export interface Fuzzed {
  readonly inputs: number;
  /** Inputs that reached something new. */
  readonly corpus: number;
  readonly findings: readonly Finding[];
}

export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
  /** Says which inputs are worth changing further; without it these are the seeds alone. */
  readonly coverage?: Coverage | undefined;
  /** One input of so many is grown, besides those that reach something new; none unless given. */
  readonly growOneIn?: number | undefined;
  /** Ends after so many faults; 20 unless given. */
  readonly mostFindings?: number | undefined;
  readonly onProgress?: ((done: number, corpus: number) => void) | undefined;
  readonly onFinding?: ((finding: Finding) => void) | undefined;
}

/** That many inputs are run before some of them are run again, in another sequence. */
const ROUND = 64;
const PROGRESS_EVERY = 1_000;
/** Faults of one kind are one. Beyond that many kinds something is wrong with the target. */
const MOST_FINDINGS = 20;

/** Feeds a target with changed inputs, and keeps those that reach something new for further changes. */
export async function fuzz(target: Target, options: FuzzOptions): Promise<Fuzzed> {
  const { inputs, seed, coverage, growOneIn, onProgress, onFinding } = options;
  const { mostFindings = MOST_FINDINGS } = options;
  const random = new Random(seed);
  const corpus = [...target.seeds];
  const findings = new Map<string, Finding>();
  let kept = 0;
  let ran = 0;
  const note = async (error: unknown, input: Buffer, again?: (input: Buffer) => Promise<unknown>) => {
    const words = wordsOf(error);
    if (findings.has(words)) return;
    const after = ran;
    findings.set(words, { words, input, after });
    const finding = { words, input: again === undefined ? input : await shrink(input, words, again), after };
    findings.set(words, finding);
    onFinding?.(finding);
  };

  let round: { readonly input: Buffer; readonly outcome: string }[] = [];
  for (let done = 0; done < inputs && findings.size < mostFindings; done += 1) {
    ran = done + 1;
    const base =
      done < target.seeds.length ? target.seeds[done] : pickOf(corpus, target.seeds.length, random);
    const other = pickOf(corpus, target.seeds.length, random);
    const input =
      done < target.seeds.length ? (base ?? other) : mutate(base ?? other, other, random, target.form);
    coverage?.forget();
    try {
      const outcome = await target.run(input);
      if (random.oneIn(8)) round.push({ input, outcome });
    } catch (error) {
      await note(error, input, async (each) => target.run(each));
    }
    const isNew = coverage?.isNew() === true;
    if (isNew) {
      corpus.push(input);
      kept += 1;
    }
    const mayGrow = growOneIn !== undefined && !target.isSeed;
    if (mayGrow && (random.oneIn(growOneIn) || (isNew && random.oneIn(growOneIn / 100)))) {
      await expectLinear(target, input, random).catch((error) => note(error, input));
      coverage?.forget();
    }
    if ((done + 1) % ROUND === 0) {
      for (const { input, outcome } of round.reverse()) {
        const again = async (each: Buffer) => {
          if ((await target.run(each)) !== outcome) throw new Fault("the same input twice gives two things");
        };
        await again(input).catch((error) => note(error, input, again));
      }
      round = [];
    }
    if ((done + 1) % PROGRESS_EVERY === 0) onProgress?.(done + 1, kept);
  }
  return { inputs, corpus: kept, findings: [...findings.values()] };
}

/** A seed, which gets far; one of the latest, which reach what the others don't; or any. */
function pickOf(corpus: readonly Buffer[], seeds: number, random: Random): Buffer {
  const latest = Math.ceil(corpus.length / 4);
  const [from, count] = random.pick([
    [0, seeds],
    [corpus.length - latest, latest],
    [0, corpus.length],
  ] as const);
  return corpus[from + random.below(count)] ?? Buffer.alloc(0);
}

/** What is wrong, and for an error that nobody foresaw where it was thrown. */
function wordsOf(error: unknown): string {
  if (error instanceof Fault) return error.message;
  if (!(error instanceof Error)) return `threw ${typeof error}`;
  const [where = ""] = /\/(?:src|node_modules)\/[^)\n]*/.exec(error.stack ?? "") ?? [];
  return `${error.name}: ${error.message.slice(0, 100)} at ${where}`;
}

const MOST_ATTEMPTS = 500;

/** Leaves out of an input whatever the same fault shows without. */
async function shrink(
  input: Buffer,
  words: string,
  run: (input: Buffer) => Promise<unknown>,
): Promise<Buffer> {
  const isSame = (each: Buffer) =>
    run(each).then(
      () => false,
      (error) => wordsOf(error) === words,
    );
  let smallest = input;
  let attempts = 0;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length && attempts < MOST_ATTEMPTS; attempts += 1) {
      const less = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (await isSame(less)) smallest = less;
      else at += size;
    }
  }
  return smallest;
}
