import { Failure } from "../../../src/core/failures.ts";

/** Code and message of the Failure that some work ends with; undefined when it ends well. Other errors pass through. */
export function failureOf(work: () => unknown): { code: string; message: string } | undefined {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return { code: error.code, message: error.message };
    throw error;
  }
  return undefined;
}
