import { InvalidArgumentError, Option } from "commander";
import { formatDuration, parseDuration } from "../core/duration.ts";
import { ORDER_STATES, type OrderState } from "../core/order-state.ts";
import { formatId, type IdKind, parseId } from "../ledger/ids.ts";

/** Where a simulated service listens unless another port is given. */
export const SIMULATOR_PORT = 4711;

/** Parses a whole number of at least `least`, for commander. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`Expected a whole number ${range}.`);
  };
}

/** Parses a number above 0, for commander. */
export function positiveNumber(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number above 0.");
}

/** Parses a duration such as `90s` into ms, for commander. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError("Expected a duration such as 90s or 2m.");
}

/** Parses a duration of at least `leastMs` and at most `mostMs` into ms, for commander. */
export function durationWithin(leastMs: number, mostMs: number): (text: string) => number {
  return (text) => {
    const ms = duration(text);
    if (ms >= leastMs && ms <= mostMs) return ms;
    const range = `from ${formatDuration(leastMs)} to ${formatDuration(mostMs)}`;
    throw new InvalidArgumentError(`Expected a duration ${range}.`);
  };
}

/** A host and a TCP port. */
export interface Peer {
  readonly host: string;
  readonly port: number;
}

/** `lims.example.org:2576`, `[::1]:2575`; undefined for what is none. */
export function parsePeer(text: string): Peer | undefined {
  const [, bracketed, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(text.trim()) ?? [];
  const port = Number(digits);
  const host = bracketed ?? name;
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** Parses one, for commander. */
export function hostAndPort(text: string): Peer {
  const peer = parsePeer(text);
  if (peer !== undefined) return peer;
  throw new InvalidArgumentError("Expected HOST:PORT, such as 127.0.0.1:2575 or [::1]:2575.");
}

/** Parses an option that may stand several times, for commander. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** Parses an id of the service, for commander. Larger ones are not exact numbers. */
export function serviceId(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  const rule = /^\d+$/.test(text)
    ? `Ids of the service are read up to ${Number.MAX_SAFE_INTEGER} (2^53 - 1); this one is larger.`
    : "Expected an id of the service, which is a whole number.";
  throw new InvalidArgumentError(rule);
}

/**
 * `--before <id>` of a list that is shown by pages: what stands in it after this record; its value is the record's number.
 *
 * @param kind undefined for records that have plain numbers
 * @param flag where another word fits the list better
 */
export function pageOption(kind: IdKind | undefined, flag: "--before" | "--after" = "--before"): Option {
  const example = kind === undefined ? "17" : formatId(kind, 17);
  const help = `the next page: what comes after this one in the list, such as ${example}`;
  if (kind === undefined) return new Option(`${flag} <n>`, help).argParser(wholeNumber(1));
  return new Option(`${flag} <id>`, help).argParser((text) => {
    const id = parseId(kind, text);
    if (id !== undefined) return id;
    throw new InvalidArgumentError(`Expected an id such as ${example}.`);
  });
}

/** A parser for commander that says which words are meant, for the completion of shells. */
interface WordParser<T> {
  (text: string): T;
  readonly words: readonly string[];
}

/** The words that are meant where commander calls this for a value; none where it does not say. */
export function wordsFor(parser: unknown): readonly string[] {
  return typeof parser === "function" && "words" in parser ? (parser as WordParser<unknown>).words : [];
}

/** Parses a list such as `parked,failed`, each of `allowed`, for commander. */
export function wordsOf<T extends string>(allowed: readonly T[]): WordParser<readonly T[]> {
  const parse = (text: string) =>
    text.split(",").map((part) => {
      const found = allowed.find((word) => word === part.trim());
      if (found !== undefined) return found;
      throw new InvalidArgumentError(`"${part.trim()}" is none of ${allowed.join(", ")}.`);
    });
  return Object.assign(parse, { words: allowed });
}

/** Parses one word of `allowed`, for commander. */
export function oneOf<T extends string>(allowed: readonly T[]): WordParser<T> {
  const parse = (text: string) => {
    const found = allowed.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Expected ${allowed.join(" or ")}.`);
  };
  return Object.assign(parse, { words: allowed });
}

/** Takes any text, of which these words are one kind, for commander. */
export function textOr(words: readonly string[]): WordParser<string> {
  return Object.assign((text: string) => text, { words });
}

/** Parses order states. */
export const orderStates: WordParser<readonly OrderState[]> = wordsOf(ORDER_STATES);
