import { Failure } from "../../../src/core/failures.ts";
import { placeText } from "../../../src/core/place.ts";

/** Code, message and place of the Failure that some work ends with; undefined when it ends well. Other errors pass through. */
export function failureOf(
  work: () => unknown,
): { code: string; message: string; place?: string | undefined } | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) {
      const { code, message, place } = error;
      return { code, message, ...(place === undefined ? {} : { place: placeText(place) }) };
    }
    throw error;
  }
  return undefined;
}
