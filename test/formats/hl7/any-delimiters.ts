import fc from "fast-check";
import type { Delimiters } from "../../../src/formats/hl7/delimiters.ts";

/** Five or six different printable characters that are neither letters nor digits. */
export const anyDelimiters: fc.Arbitrary<Delimiters> = fc
  .shuffledSubarray([..."!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"], { minLength: 5, maxLength: 6 })
  .map(([field = "", component = "", repetition = "", mark = "", subcomponent = "", truncation]) => ({
    field,
    component,
    repetition,
    escape: mark,
    subcomponent,
    ...(truncation === undefined ? {} : { truncation }),
  }));
