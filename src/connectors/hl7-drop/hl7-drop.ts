import { Failure, problemOf } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { phi } from "../../core/phi.ts";
import { type CharsetOptions, decodeIncoming } from "../../formats/hl7/charset.ts";
import { type Hl7FilePart, splitHl7File } from "../../formats/hl7/file.ts";
import { DEFAULT_MAX_BYTES, type FileContent, type FileFormat } from "../drop-folder/settings.ts";

/** More than files of that size have, unless they are made to fill the memory. */
const LIMITS = { messages: 500_000, batches: 10_000 };
/** One commit each: enough messages to share its cost, few enough to keep it short. */
const BATCH_MESSAGES = 200;
const BATCH_BYTES = 4 * 1024 * 1024;

/** The settings of an HL7 drop folder beyond its folders. */
export interface Hl7FileSettings {
  readonly maxBytes?: number | undefined;
  /** Whether messages may stand apart by another line end than their segments do; refused unless set. */
  readonly mixedLineEnds?: "refuse" | "accept" | undefined;
  /** Character sets: what the sender really uses, and what an empty MSH-18 means. */
  readonly charset?: CharsetOptions | undefined;
}

/** HL7 v2 files: one message, several, or batches. A file is kept in memory while it is read, hence the bound. */
export function hl7FileFormat(settings: Hl7FileSettings): FileFormat {
  return {
    type: "hl7-drop",
    maxBytes: settings.maxBytes ?? DEFAULT_MAX_BYTES,
    isWholeFile: false,
    examine: (bytes) => examine(bytes, settings),
    check: () => [],
  };
}

async function examine(
  bytes: Buffer,
  { charset = {}, mixedLineEnds = "refuse" }: Hl7FileSettings,
): Promise<FileContent> {
  const { parts, problems, outline } = splitHl7File(bytes, { ...LIMITS, mixedLineEnds });
  const isInBatch = outline !== undefined;
  return {
    problems,
    batch: outline,
    batches: () => inBatches(parts, charset, isInBatch),
  };
}

async function* inBatches(
  parts: readonly Hl7FilePart[],
  charset: CharsetOptions,
  isInBatch: boolean,
): AsyncGenerator<readonly IncomingMessage[]> {
  let batch: IncomingMessage[] = [];
  let bytes = 0;
  for (const part of parts) {
    if (batch.length > 0 && (batch.length === BATCH_MESSAGES || bytes + part.raw.length > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(isInBatch ? { ...toMessage(part, charset), isInBatch } : toMessage(part, charset));
    bytes += part.raw.length;
  }
  if (batch.length > 0) yield batch;
}

/** A line of a message counts in its file. */
function placeInFile({ line }: Hl7FilePart, { place }: Failure): string {
  const within = /^line (\d+)$/.exec(place ?? "line 1")?.[1];
  return within === undefined ? (place ?? "") : `line ${line + Number(within) - 1}`;
}

/** A part of a file as the intake takes it; one whose characters don't fit is kept with the reason. */
export function toMessage(part: Hl7FilePart, charset: CharsetOptions): IncomingMessage {
  const { ordinal, raw } = part;
  const place = `message ${ordinal}`;
  try {
    const { text, encoding } = decodeIncoming(raw, charset);
    return { ordinal, place, raw: phi(raw), content: { kind: "hl7", text: phi(text), encoding } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const problems = [problemOf(error, `${place}, ${placeInFile(part, error)}`)];
    return { ordinal, place, raw: phi(raw), content: { kind: "unreadable", problems } };
  }
}
