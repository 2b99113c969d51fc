import type { OrderContainer } from "../../core/order.ts";
import { findMarks, isSameSet } from "../../service/new-request.ts";
import { hasSameLabels, type Made } from "../../service/reconcile/made.ts";

/**
 * Whether something at the service is what a call made. `marked`: it carries the call's mark, and the service shows
 * other labels with it, or none: somebody may have corrected or copied it, so a person decides. `other`: it was made since a ledger was
 * copied that was restored then, for other containers, and nobody can tell whether the order asked for those before.
 */
export type Match = "certain" | "marked" | "possible" | "other" | "none";

/** What a call asked for. */
export type Asked =
  | {
      readonly type: "STORE";
      readonly containers: readonly OrderContainer[];
      /** The call's mark, where the site uses marks. */
      readonly ref: string | undefined;
    }
  /** Undefined where the service's ids of the containers can't be known. */
  | { readonly type: "RETRIEVAL"; readonly containerIds: readonly number[] | undefined };

/** Why something there may be of a call. */
export type Suspicion =
  | {
      /** A call of the order left. */
      readonly kind: "called";
      /** What was there before it is known, and not given. */
      readonly hasSnapshot: boolean;
    }
  | {
      /** The ledger is an older copy, and doesn't know whether one left. */
      readonly kind: "forgotten";
      /** The order was in the copy; else it came since, and can have no call by itself. */
      readonly wasInCopy: boolean;
      /** Whether an order of the ledger other than the call's has or had a mark. */
      readonly isOthers: (mark: string) => boolean;
    };

/**
 * How much something at the service is like what a call made: the first row that fits. Clocks may speak for a match; against one that
 * shows no content they do only where it is older than clocks and time zones are ever wrong.
 *
 * | asked | shows | called | forgotten |
 * |---|---|---|---|
 * | STORE | the call's mark, exactly its labels | certain | certain |
 * | STORE | the call's mark, other labels or none | marked | marked |
 * | STORE | a mark of another order of the ledger | none | none |
 * | STORE | any other mark that wasn't in the order's own descriptions | none | as by labels |
 * | STORE | no labels | possible, older: none | possible |
 * | STORE | exactly the labels, and the site uses no marks | certain if newer and not hidden, else possible | certain if in the copy, else possible |
 * | STORE | exactly the labels | possible | possible |
 * | STORE | some of the labels | none | possible |
 * | STORE | other labels | none | other if newer, else none |
 * | RETRIEVAL | no containers, or the call's aren't known | possible, older: none | possible |
 * | RETRIEVAL | exactly the containers | certain if it is new and not hidden, else possible | certain if in the copy, else possible |
 * | RETRIEVAL | some of the containers | none | possible |
 * | RETRIEVAL | other containers | none | other if newer, else none |
 *
 * A retrieval is new by its time, or, where that isn't shown, for not being in the snapshot.
 */
export function matchOf(made: Made, asked: Asked, suspicion: Suspicion): Match {
  return asked.type === "STORE"
    ? matchStore(made, asked, suspicion)
    : matchRetrieval(made, asked.containerIds, suspicion);
}

function matchStore(
  made: Made,
  { containers, ref }: Extract<Asked, { type: "STORE" }>,
  suspicion: Suspicion,
): Match {
  const labels = containers.map(({ label }) => label);
  const isSame = hasSameLabels(made, labels);
  if (ref !== undefined && made.marks.includes(ref)) return isSame ? "certain" : "marked";
  const isCalled = suspicion.kind === "called";
  // The lab itself may have sent a mark, as a description that it had from us before.
  const own = new Set(containers.flatMap(({ description }) => findMarks(description)));
  const isOthers = (mark: string) =>
    isCalled ? ref !== undefined && !own.has(mark) : suspicion.isOthers(mark);
  if (made.marks.some(isOthers)) return "none";
  if (made.labels === undefined) return isCalled && made.age === "older" ? "none" : "possible";
  if (isSame) {
    const isSure = isCalled ? made.age === "newer" && !made.isHidden : suspicion.wasInCopy;
    return ref === undefined && isSure ? "certain" : "possible";
  }
  if (isCalled) return "none";
  return made.labels.flat().some((label) => labels.includes(label)) ? "possible" : otherBy(made);
}

function matchRetrieval(
  { containerIds, age, isHidden }: Made,
  wanted: readonly number[] | undefined,
  suspicion: Suspicion,
): Match {
  const isCalled = suspicion.kind === "called";
  if (containerIds === undefined || wanted === undefined) {
    return isCalled && age === "older" ? "none" : "possible";
  }
  if (isSameSet(containerIds, wanted)) {
    const isNew = (hasSnapshot: boolean) => age === "newer" || (age === "unknown" && hasSnapshot);
    const isSure = isCalled ? isNew(suspicion.hasSnapshot) && !isHidden : suspicion.wasInCopy;
    return isSure ? "certain" : "possible";
  }
  if (isCalled) return "none";
  return containerIds.some((id) => wanted.includes(id)) ? "possible" : otherBy({ age });
}

/** What shows no time, or one before the copy, is no sign that anything was forgotten. */
function otherBy({ age }: Pick<Made, "age">): Match {
  return age === "newer" ? "other" : "none";
}
