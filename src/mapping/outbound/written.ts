import { Failure } from "../../core/failures.ts";
import type { Encoding } from "../../formats/encoding.ts";
import { encodeHl7 } from "../../formats/hl7/encode.ts";
import type { Original } from "./original.ts";

/**
 * The bytes of an answer to a message. Its sender waits for it, so where the character set of the results can't hold
 * what it has to repeat, it goes out in that of the message itself, or else in UTF-8, as its own MSH-18 then says.
 *
 * @param compose the text of the answer, to the message as it is given
 */
export function encodeAnswer(original: Original, compose: (original: Original) => string): Buffer {
  const encode = (from: Original) => tryToEncode(compose(from), from.charset.encoding);
  return (
    encode(original) ??
    encode(original.writtenIn("as-received")) ??
    Buffer.from(compose(original.writtenIn("utf-8")), "utf8")
  );
}

function tryToEncode(text: string, encoding: Encoding): Buffer | undefined {
  try {
    return encodeHl7(text, encoding);
  } catch (error) {
    if (error instanceof Failure && error.code === "RESULT_NOT_ENCODABLE") return undefined;
    throw error;
  }
}
