import { InvalidArgumentError } from "commander";
import { parseDuration } from "../core/duration.ts";
import { ORDER_STATES, type OrderState } from "../core/order-state.ts";

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

/** Parses a list such as `parked,failed`, each of `allowed`, for commander. */
export function wordsOf<T extends string>(allowed: readonly T[]): (text: string) => readonly T[] {
  return (text) =>
    text.split(",").map((part) => {
      const found = allowed.find((word) => word === part.trim());
      if (found !== undefined) return found;
      throw new InvalidArgumentError(`"${part.trim()}" is none of ${allowed.join(", ")}.`);
    });
}

/** Parses one word of `allowed`, for commander. */
export function oneOf<T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((word) => word === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Expected ${allowed.join(" or ")}.`);
  };
}

/** Parses order states. */
export const orderStates: (text: string) => readonly OrderState[] = wordsOf(ORDER_STATES);
