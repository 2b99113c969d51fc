import type { Failure } from "../core/failures.ts";

/**
 * What a failed step means:
 * - `again`: nothing was done; once more, later.
 * - `look`: a call may have had an effect, so the service is searched for that first.
 * - `person`: it will fail each time.
 */
export type NextStep = "again" | "look" | "person";

/** What nobody classified fails this often before a person is asked. */
const MOST_UNCLASSIFIED = 10;

/**
 * Decides about a failed step of an order, a call to cancel one, or a look for what a call did:
 *
 * | the failure is                           | no call may have left | one may have left |
 * | ---------------------------------------- | --------------------- | ----------------- |
 * | transient, or refused credentials        | again                 | again             |
 * | permanent                                | person                | person            |
 * | ambiguous                                | again                 | look              |
 * | what nobody classified, from the 10th on | person                | person            |
 *
 * | what failed                                        | what `person` means                                         |
 * | -------------------------------------------------- | ----------------------------------------------------------- |
 * | a step of submit, a look for an open call          | the order is parked                                         |
 * | a call to cancel                                   | it is looked for, as refused where the answer was permanent; the look decides |
 * | a look for a call to cancel, or for one that ended | it is made again: the order goes on, and its end decides    |
 *
 * An outage asks for nobody, however long it lasts; neither do refused credentials, which are the site's to fix and say nothing about
 * the order.
 *
 * @param attempts how often it was tried, with the try that failed
 */
export function nextStepAfter(
  failure: Pick<Failure, "class" | "code">,
  { attempts, mayHaveLeft }: { readonly attempts: number; readonly mayHaveLeft: boolean },
): NextStep {
  if (failure.code === "SERVICE_CREDENTIALS_REFUSED") return "again";
  switch (failure.class) {
    case "transient":
      return "again";
    case "permanent":
      return "person";
    case "ambiguous":
      if (failure.code === "UNCLASSIFIED" && attempts >= MOST_UNCLASSIFIED) return "person";
      return mayHaveLeft ? "look" : "again";
  }
}
