import type { FailureCode, Problem } from "../../core/failures.ts";
import type { BatchOutline } from "../../core/intake.ts";
import { atLine } from "../../core/place.ts";

/** A hostile file can break a million batches; people read the first few. */
const MAX_PROBLEMS = 20;

interface OpenHeader {
  readonly line: number;
  readonly controlId: string | undefined;
  /** Messages of a batch, or batches of a file, counted so far. */
  count: number;
}

/**
 * Follows FHS, BHS, BTS and FTS through a file and notes where they do not fit: a header without its trailer or the
 * reverse (the file may be cut), or a count in BTS-1 or FTS-1 that is not what was found. An empty count is not checked.
 * A file without any of the four needs none.
 */
export class BatchTracker {
  readonly problems: Problem[] = [];
  /** FHS-11. */
  fileControlId: string | undefined;
  #fileHeader: string | undefined;
  readonly #outline: { header?: string; messages: number }[];
  #file: OpenHeader | undefined;
  #batch: OpenHeader | undefined;
  #isFileOver = false;
  /** Messages of the open file that stand in no batch; some senders count them as one batch (BHS is optional), others each. */
  #loose: number;

  /** @param messages how many stood before the first batch segment */
  constructor(messages: number) {
    this.#loose = messages;
    this.#outline = messages === 0 ? [] : [{ messages }];
  }

  /** BHS-11 of the batch that is open. */
  get batchControlId(): string | undefined {
    return this.#batch?.controlId;
  }

  /** What was found so far. */
  get outline(): BatchOutline {
    return { fileHeader: this.#fileHeader, batches: this.#outline };
  }

  /** A message begins. */
  message(): void {
    if (this.#batch) this.#batch.count++;
    else this.#loose++;
    const last = this.#outline.at(-1);
    // One after a batch that is over belongs to none.
    if (last !== undefined && (this.#batch !== undefined) === (last.header !== undefined)) last.messages++;
    else this.#outline.push({ messages: 1 });
  }

  /** A batch segment, with its text as it is read for counts and control ids, its line, and its text in full. */
  mark(kind: "FHS" | "BHS" | "BTS" | "FTS", text: string, line: number, fullText = text): void {
    if (kind === "FHS") this.#fileHeader ??= fullText;
    if (kind === "BHS") this.#outline.push({ header: fullText, messages: 0 });
    if (kind === "FHS") this.#openFile(text, line);
    else if (kind === "BHS") this.#openBatch(text, line);
    else if (kind === "BTS") this.#closeBatch(text, line);
    else this.#closeFile(text, line);
  }

  /** The file is over. */
  end(): void {
    this.#expectBatchClosed("the file ended");
    if (this.#file)
      this.#note("HL7_BATCH_INCOMPLETE", this.#file.line, "FHS without FTS before the file ended");
  }

  #openFile(text: string, line: number): void {
    this.#expectBatchClosed(`FHS at line ${line}`);
    if (this.#file) {
      this.#note("HL7_BATCH_INCOMPLETE", this.#file.line, `FHS without FTS before FHS at line ${line}`);
    } else if (!this.#isFileOver && this.#loose > 0) {
      this.#note(
        "HL7_BATCH_INCOMPLETE",
        line,
        "FHS after messages: expected it at the beginning of the file",
      );
    }
    this.#file = { line, controlId: fieldOf(text, 11), count: 0 };
    this.fileControlId ??= this.#file.controlId;
    this.#loose = 0;
  }

  #openBatch(text: string, line: number): void {
    this.#expectBatchClosed(`BHS at line ${line}`);
    this.#batch = { line, controlId: fieldOf(text, 11), count: 0 };
  }

  #closeBatch(text: string, line: number): void {
    if (this.#batch === undefined) {
      this.#note("HL7_BATCH_INCOMPLETE", line, "BTS without BHS before it");
      return;
    }
    this.#expectCount("BTS-1", text, line, [this.#batch.count], "messages");
    this.#batch = undefined;
    if (this.#file) this.#file.count++;
  }

  #closeFile(text: string, line: number): void {
    this.#expectBatchClosed(`FTS at line ${line}`);
    if (this.#file === undefined) {
      this.#note("HL7_BATCH_INCOMPLETE", line, "FTS without FHS before it");
      return;
    }
    const { count } = this.#file;
    const whole = this.#loose > 0 ? [count, count + 1] : [count];
    const each = count === 0 && this.#loose > 0 ? [this.#loose] : [];
    this.#expectCount("FTS-1", text, line, [...whole, ...each], "batches");
    this.#file = undefined;
    this.#isFileOver = true;
    this.#loose = 0;
  }

  #expectBatchClosed(event: string): void {
    if (this.#batch === undefined) return;
    this.#note("HL7_BATCH_INCOMPLETE", this.#batch.line, `BHS without BTS before ${event}`);
    this.#batch = undefined;
  }

  #expectCount(field: string, text: string, line: number, allowed: readonly number[], what: string): void {
    const stated = fieldOf(text, 1);
    if (stated === undefined) return;
    if (/^\d{1,15}$/.test(stated) && allowed.includes(Number(stated))) return;
    const said = /^\d{1,15}$/.test(stated) ? `says ${stated}` : "is no number";
    this.#note("HL7_BATCH_COUNT", line, `${field} ${said}, found ${allowed[0]} ${what}`);
  }

  #note(code: FailureCode, line: number, message: string): void {
    if (this.problems.length >= MAX_PROBLEMS) return;
    this.problems.push({ code, place: atLine(line), message });
  }
}

/** The trimmed text of a field of a batch segment; undefined when empty. In FHS and BHS field 1 is the separator itself. */
function fieldOf(text: string, n: number): string | undefined {
  const separator = text.charAt(3);
  if (separator === "") return undefined;
  const isHeader = text.startsWith("FHS") || text.startsWith("BHS");
  const value = text.split(separator, n + 1)[isHeader ? n - 1 : n]?.trim();
  return value === undefined || value === "" ? undefined : value;
}
