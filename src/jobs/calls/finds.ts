import type { Surface } from "../../core/surface.ts";

/** What the service has that may be of a call, as numbers of requests, or of procedures of the external surface. */
export interface Finds {
  /** Certainly the call's, and no other order's. */
  readonly certain: readonly number[];
  /** Certainly the call's, but another order has it: named as `order P-1001`. */
  readonly taken: readonly { readonly id: number; readonly holder: string }[];
  /** With the call's mark, though not with its labels alone as far as the service shows. */
  readonly marked: readonly number[];
  /** What may be the call's as well as somebody else's. */
  readonly possible: readonly number[];
  /** Those of the possible ones that may have been there before: no snapshot shows them. */
  readonly hidden: readonly number[];
  /** For other containers and no order's: a restored ledger can't tell whether the order asked for those before it was changed. */
  readonly other: readonly number[];
  /** Containers with the call's mark, though nothing else shows it. */
  readonly traces: readonly number[];
}

/** What each surface makes of an order. */
export const WORD = { request: "request", external: "procedure" } as const satisfies Record<Surface, string>;
export const WORDS = { request: "requests", external: "procedures" } as const satisfies Record<
  Surface,
  string
>;

/** `request 17`, or `procedures 17, 18`. */
export function nameIds(surface: Surface, ids: readonly number[], and = ", "): string {
  return `${(ids.length === 1 ? WORD : WORDS)[surface]} ${ids.join(and)}`;
}

/** What speaks for an effect of the call without showing which; undefined when nothing does. */
export function describeTraces(surface: Surface, { marked, possible, traces }: Finds): string | undefined {
  if (marked.length > 0) {
    return `${nameIds(surface, marked)} at the service ${marked.length === 1 ? "carries" : "carry"} the order's mark, but the service doesn't show its labels with it`;
  }
  if (possible.length > 0) {
    return `${WORDS[surface]} ${possible.join(", ")} could be this order's, but nothing proves it`;
  }
  if (traces.length === 0) return undefined;
  return `containers ${traces.join(", ")} at the service carry the order's mark, but no procedure is listed`;
}

/** What of the service may be an order's beside what it is followed by. */
export interface Remains {
  readonly certain: readonly number[];
  readonly perhaps: readonly number[];
}

/**
 * What a look for an ended call found beside what the order is followed by (row 15).
 *
 * @param isProved whether a mark proves what is the call's: then what merely has its labels is somebody else's as well as not
 */
export function remainsOf(
  { certain, taken, marked, possible }: Finds,
  own: number | undefined,
  isProved: boolean,
): Remains {
  const others = (ids: readonly number[]) => ids.filter((id) => id !== own);
  return {
    certain: others([...certain, ...taken.map(({ id }) => id)]),
    perhaps: others(isProved ? marked : [...marked, ...possible]),
  };
}

/** Whatever a look found that may be the call's, in words (rows 16 and 23); undefined for nothing. */
export function nameFinds(
  surface: Surface,
  { certain, taken, marked, possible, traces }: Finds,
): string | undefined {
  const ids = [...new Set([...certain, ...taken.map(({ id }) => id), ...marked, ...possible])];
  if (ids.length > 0) return nameIds(surface, ids);
  return traces.length > 0 ? `containers ${traces.join(", ")}` : undefined;
}
