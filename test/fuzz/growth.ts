import type { InputForm } from "./mutate.ts";
import type { Random } from "./random.ts";
import { Fault, type Target } from "./target.ts";

/** From here on a time is no noise, ms. */
const MEASURABLE_MS = 25;
/** Larger inputs are not made. */
const LARGEST_BYTES = 131_072;
const TRIES = 3;
const SHORT_RUNS = 5;

/**
 * Repeats a piece of an input until it costs something, and compares with a quarter of it: work that grows faster than the input
 * costs more than four times as much. Both are measured here and now, in processor time, so that it is the same on any machine.
 *
 * @throws Fault where it did each time
 */
export async function expectLinear(target: Target, input: Buffer, random: Random): Promise<void> {
  const { grow, words } = growing(input, random, target.form);
  // A quarter of it has to consist of the piece as well, for what it costs to be a quarter of the work.
  let bytes = Math.max(4_096, 16 * input.length);
  let before: readonly [quarter: number, half: number] = [0, 0];
  for (; bytes <= LARGEST_BYTES; bytes *= 2) {
    const cost = await costOf(target, grow(bytes));
    if (cost > MEASURABLE_MS && cost > 9 * before[0]) {
      await compare(target, grow(bytes / 4), grow(bytes), words);
      return;
    }
    if (cost > 4 * MEASURABLE_MS) return;
    before = [before[1], cost];
  }
}

async function compare(target: Target, small: Buffer, large: Buffer, words: string): Promise<void> {
  const tries: string[] = [];
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    // A short run is easily disturbed, and then looks as if it cost what the long one does.
    let one = await costOf(target, small);
    for (let run = 1; run < SHORT_RUNS; run += 1) one = Math.min(one, await costOf(target, small));
    const four = await costOf(target, large);
    if (four < MEASURABLE_MS || four < 10 * one) return;
    tries.push(`${Math.round(one)} ms and ${Math.round(four)} ms`);
  }
  throw new Fault(
    `${small.length} and ${large.length} bytes, with many times ${words}, take ${tries.join(", ")}`,
  );
}

/** The input with one of its pieces so often that it is of a size. */
function growing(
  input: Buffer,
  random: Random,
  { delimiters }: InputForm,
): { readonly grow: (bytes: number) => Buffer; readonly words: string } {
  const delimiter = Buffer.from(random.pick(delimiters));
  const at = random.below(input.length + 1);
  const begin = at === 0 ? -1 : input.lastIndexOf(delimiter, at - 1);
  const from = begin === -1 ? 0 : begin;
  const next = input.indexOf(delimiter, at);
  const to = next === -1 ? input.length : next;
  const piece = from < to && !random.oneIn(4) ? input.subarray(from, to) : delimiter;
  const grow = (bytes: number) => {
    const times = Math.max(1, Math.ceil((bytes - input.length) / piece.length));
    const repeated = Buffer.concat(Array.from({ length: times }, () => piece));
    return Buffer.concat([input.subarray(0, to), repeated, input.subarray(to)]);
  };
  return { grow, words: JSON.stringify(piece.toString("utf8", 0, 80)) };
}

/** Processor time of this thread, ms: what the machine does beside it doesn't count. */
async function costOf(target: Target, input: Buffer): Promise<number> {
  const before = process.threadCpuUsage();
  await target.run(input);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
