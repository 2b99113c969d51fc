import { Failure, problemOf } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { phi } from "../../core/phi.ts";
import { atLine, type Place, within } from "../../core/place.ts";
import { type CharsetOptions, decodeIncoming } from "../../formats/hl7/charset.ts";
import { type Hl7FilePart, splitHl7File } from "../../formats/hl7/file.ts";
import { type FileContent, type FileFormat, inBatches } from "../drop-folder/settings.ts";

/** More than files of that size have, unless they are made to fill the memory. */
const LIMITS = { messages: 500_000, batches: 10_000 };

/** The settings of an HL7 drop folder beyond its folders. */
export interface Hl7FileSettings {
  readonly maxBytes: number;
  /** Whether messages may stand apart by another line end than their segments do; refused unless set. */
  readonly mixedLineEnds?: "refuse" | "accept" | undefined;
  /** Character sets: what the sender really uses, and what an empty MSH-18 means. */
  readonly charset?: CharsetOptions | undefined;
}

/** HL7 v2 files: one message, several, or batches. A file is kept in memory while it is read, hence the bound. */
export function hl7FileFormat(settings: Hl7FileSettings): FileFormat {
  return {
    type: "hl7-drop",
    maxBytes: settings.maxBytes,
    isWholeFile: false,
    examine: (bytes) => Promise.resolve(examine(bytes, settings)),
    check: () => [],
  };
}

function examine(bytes: Buffer, { charset = {}, mixedLineEnds = "refuse" }: Hl7FileSettings): FileContent {
  const { parts, problems, outline } = splitHl7File(bytes, { ...LIMITS, mixedLineEnds });
  const messages = function* () {
    for (const part of parts) yield { ...toMessage(part, charset), ...(outline && { isInBatch: true }) };
  };
  return { problems, batch: outline, batches: () => inBatches(messages()) };
}

/** A message as the intake takes it, of a file or frame or of the ledger; one whose characters don't fit is kept with the reason. */
export function toMessage(
  { ordinal, raw, line }: Pick<Hl7FilePart, "ordinal" | "raw"> & Partial<Pick<Hl7FilePart, "line">>,
  charset: CharsetOptions,
): IncomingMessage {
  const place: Place = { message: ordinal };
  try {
    const { text, encoding } = decodeIncoming(raw, charset);
    return { ordinal, place, raw: phi(raw), content: { kind: "hl7", text: phi(text), encoding } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const problems = [problemOf(error, within(place, placeOf(error, line)))];
    return { ordinal, place, raw: phi(raw), content: { kind: "unreadable", problems } };
  }
}

/** @param firstLine that of the file on which the message begins; where that is not known, lines count in the message */
function placeOf({ place = atLine(1) }: Failure, firstLine: number | undefined): Place {
  const [line] = place.lines?.at ?? [];
  if (line === undefined) return place;
  return firstLine === undefined
    ? { lines: { at: [line], isOfMessage: true } }
    : atLine(firstLine + line - 1);
}
