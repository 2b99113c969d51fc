import iconv from "iconv-lite";
import type { Random } from "./random.ts";

/** How the inputs of a target are written, as far as mutations go by it. */
export interface InputForm {
  /** What parts an input, the outermost level first: line ends, fields, components. */
  readonly delimiters: readonly string[];
  /** Pieces that mean something in it. */
  readonly tokens: readonly string[];
  /** What opens and closes a level of nesting. */
  readonly brackets: readonly (readonly [open: string, close: string])[];
}

/** Pieces as they are written here: with a broken bar between them. */
export function piecesIn(text: string): string[] {
  return text.split("¦");
}

/** Longer inputs are cut: what grows with them is looked at by itself. */
const LONGEST = 8_192;

/** What breaks readers of any format. */
const ODD_PIECES = piecesIn(
  "\0¦\x0b¦\x1c¦\x1c\r¦\x1a¦\x1b¦\r¦\n¦\r\n¦\t¦ ¦\u00a0¦\u2028¦\ufeff¦__proto__¦constructor¦toString¦" +
    'hasOwnProperty¦null¦undefined¦NaN¦[object Object]¦é¦e\u0301¦ß¦İ¦ﬀ¦😀¦\u200b¦\u202e¦\ufffd¦\uffff¦"¦' +
    "\"\"¦'¦\\¦\\\\¦$&¦\u0024{X}¦%s¦%00¦../¦{}¦[]¦<a>¦&amp;¦=1+1¦'=1",
);
/** Bytes that are no UTF-8: half a surrogate pair, a letter cut, one too long, Latin-1. */
const ODD_BYTES = [
  [0xed, 0xa0, 0x80],
  [0xed, 0xb0, 0x80],
  [0xc3],
  [0xc0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe4],
  [0x80],
  [0xff],
];
const NUMBERS = piecesIn(
  "0¦-0¦-1¦1e308¦1e400¦0.1¦1.0¦007¦9007199254740991¦9007199254740993¦4294967296¦2147483648¦" +
    "99999999999999999999¦00000000¦20001301¦19800230¦18000101",
).concat("1".repeat(400));
const ENCODINGS = ["utf-16le", "utf-16be", "windows-1252", "iso-8859-1", "cp850", "shift_jis", "gb18030"];
const MARKS = [
  [0xef, 0xbb, 0xbf],
  [0xff, 0xfe],
  [0xfe, 0xff],
];

type Mutation = (input: Buffer, random: Random, form: InputForm, other: Buffer) => Buffer;

const replaceSpan = (input: Buffer, from: number, to: number, piece: Uint8Array) =>
  Buffer.concat([input.subarray(0, from), piece, input.subarray(to)]);
const insert = (input: Buffer, random: Random, piece: Uint8Array) => {
  const at = random.below(input.length + 1);
  return replaceSpan(input, at, at, piece);
};
const textOf = (text: string) => Buffer.from(text, "utf8");

/** A piece between two delimiters of one level, or any where there is none. */
function span(input: Buffer, random: Random, { delimiters }: InputForm): readonly [number, number] {
  const delimiter = textOf(random.pick(delimiters));
  const at = random.below(input.length + 1);
  const before = at === 0 ? -1 : input.lastIndexOf(delimiter, at - 1);
  const after = input.indexOf(delimiter, at);
  return [before === -1 ? 0 : Math.min(at, before + delimiter.length), after === -1 ? input.length : after];
}

/** A run of digits, wherever one stands. */
function digits(input: Buffer, random: Random): readonly [number, number] | undefined {
  const runs = [...input.toString("latin1").matchAll(/\d+/g)];
  if (runs.length === 0) return undefined;
  const run = random.pick(runs);
  return [run.index, run.index + run[0].length];
}

function replaceAll(input: Buffer, from: string, to: string): Buffer {
  return Buffer.from(
    input.toString("latin1").replaceAll(from, () => to),
    "latin1",
  );
}

/** Of which most of a message stays what it is, so that much of what is made gets far. */
const GENTLE: readonly Mutation[] = [
  (input, random, { tokens }) => insert(input, random, textOf(random.pick(tokens))),
  (input, random, { delimiters }) => insert(input, random, textOf(random.pick(delimiters))),
  (input, random) => insert(input, random, textOf(random.pick(ODD_PIECES))),
  (input, random, form) => replaceSpan(input, ...span(input, random, form), textOf(random.pick(form.tokens))),
  (input, random, form) => replaceSpan(input, ...span(input, random, form), textOf(random.pick(ODD_PIECES))),
  (input, random, form) => replaceSpan(input, ...span(input, random, form), Buffer.alloc(0)),
  (input, random, form) =>
    replaceSpan(input, ...span(input, random, form), input.subarray(...span(input, random, form))),
  (input, random, form, other) =>
    replaceSpan(input, ...span(input, random, form), other.subarray(...span(other, random, form))),
  (input, random, form) => {
    const [from, to] = span(input, random, form);
    const delimiter = textOf(random.pick(form.delimiters));
    const piece = Buffer.concat([delimiter, input.subarray(from, to)]);
    const times = random.oneIn(8) ? 2 + random.below(60) : 1;
    return replaceSpan(input, to, to, Buffer.concat(Array.from({ length: times }, () => piece)));
  },
  (input, random, form) => {
    const [from, to] = span(input, random, form);
    const [begin, end] = span(input, random, form);
    if (end < from) {
      const parts = [input.subarray(0, begin), input.subarray(from, to), input.subarray(end, from)];
      return Buffer.concat([...parts, input.subarray(begin, end), input.subarray(to)]);
    }
    return input;
  },
  (input, random) => {
    const found = digits(input, random);
    return found === undefined ? input : replaceSpan(input, ...found, textOf(random.pick(NUMBERS)));
  },
  (input, random, form) => {
    const quote = random.pick(['"', "'", "\\"]);
    const [from, to] = span(input, random, form);
    return Buffer.concat([
      input.subarray(0, from),
      textOf(quote),
      input.subarray(from, to),
      textOf(quote),
      input.subarray(to),
    ]);
  },
];

/** After which hardly anything is accepted. */
const HARSH: readonly Mutation[] = [
  (input, random) => {
    if (input.length === 0) return input;
    const changed = Buffer.from(input);
    changed[random.below(input.length)] = random.below(256);
    return changed;
  },
  (input, random) => insert(input, random, Buffer.from(random.pick(ODD_BYTES))),
  (input, random, form, other) => {
    const [, at] = span(input, random, form);
    const [from] = span(other, random, form);
    return Buffer.concat([input.subarray(0, at), other.subarray(from)]);
  },
  (input, random) => input.subarray(0, random.below(input.length + 1)),
  (input, random) => input.subarray(random.below(Math.min(20, input.length) + 1)),
  (input, random, { delimiters }) => replaceAll(input, random.pick(delimiters), random.pick(delimiters)),
  (input, random, { delimiters }) =>
    replaceAll(input, random.pick(delimiters), random.pick([..."!#$%@;:,.\t|"])),
  (input, random) =>
    replaceAll(input, random.pick(["\r\n", "\r", "\n"]), random.pick(["\r\n", "\r", "\n", "\r\r"])),
  (input, random, { brackets }) => {
    if (brackets.length === 0) return input;
    const [open, close] = random.pick(brackets);
    const depth = random.oneIn(20) ? 1_000 : 1 + random.below(20);
    const at = random.below(input.length + 1);
    const inner = at + random.below(input.length - at + 1);
    return Buffer.concat([
      ...[input.subarray(0, at), textOf(open.repeat(depth)), input.subarray(at, inner)],
      ...[textOf(random.oneIn(4) ? "" : close.repeat(depth)), input.subarray(inner)],
    ]);
  },
  (input, random) => (random.oneIn(4) ? iconv.encode(input.toString("utf8"), random.pick(ENCODINGS)) : input),
  (input, random) => (random.oneIn(4) ? Buffer.concat([Buffer.from(random.pick(MARKS)), input]) : input),
  (input, random) =>
    insert(input, random, Buffer.alloc(1 + random.below(random.oneIn(30) ? 2_000 : 40), random.below(256))),
];

/** The input with one change or several. */
export function mutate(input: Buffer, other: Buffer, random: Random, form: InputForm): Buffer {
  const mutations = random.oneIn(3) ? HARSH : GENTLE;
  let changed = input;
  do changed = random.pick(mutations)(changed, random, form, other);
  while (random.oneIn(2));
  return changed.length > LONGEST ? changed.subarray(0, LONGEST) : changed;
}
