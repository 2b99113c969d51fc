import { type Acknowledgment, isTaken, readAcknowledgment } from "../../../connectors/mllp/acknowledgment.ts";
import { splitHl7File } from "../../../formats/hl7/file.ts";
import type { Sendable, SendableFrame } from "./sendable.ts";
import { type Sent, WANTS_NO_ANSWER } from "./sent.ts";

/** What is known of one message of a frame. */
interface Entry {
  readonly message: Sendable;
  readonly earlier: Acknowledgment[];
  answer: Acknowledgment | undefined;
  /** When the last answer came, ms from the sending. */
  ms: number;
}

/**
 * Sorts what comes back for a frame with several messages: one batch with the answers, or a frame for each answer. An
 * answer belongs to the message whose MSH-10 its MSA-2 names; one that names a batch (BHS-11, FHS-11), or nothing,
 * answers all of them.
 */
export class FrameAnswers {
  /** Lines of FHS, BHS, BTS and FTS that came back. */
  readonly batchLines: string[] = [];
  /** Acknowledgements that fit no message that was sent. */
  readonly strays: Acknowledgment[] = [];
  /** The answer to all messages that have none of their own. */
  whole: Acknowledgment | undefined;
  /** What is wrong with the batch that came back. */
  trouble: string | undefined;
  /** Frames that came back. */
  frames = 0;
  /** When the last one came, ms from the sending. */
  lastMs = 0;
  readonly #entries: readonly Entry[];
  /** Entries without an answer, by MSH-10 without blanks around it, oldest first. */
  readonly #openById = new Map<string | undefined, Entry[]>();
  /** How many messages want an answer, and how many of them have one. */
  readonly counts = { asked: 0, answered: 0 };
  readonly #batchControlIds: readonly string[];

  constructor({ messages, batchControlIds }: Pick<SendableFrame, "messages" | "batchControlIds">) {
    this.#entries = messages.map((message) => ({ message, earlier: [], answer: undefined, ms: 0 }));
    this.#batchControlIds = batchControlIds.map((id) => id.trim());
    for (const entry of this.#entries) {
      const { controlId, isUnasked } = entry.message;
      if (!isUnasked) this.counts.asked += 1;
      const id = controlId?.trim();
      const alike = this.#openById.get(id);
      if (alike) alike.push(entry);
      else this.#openById.set(id, [entry]);
    }
  }

  /** Whether what came back is a batch. */
  get isBatch(): boolean {
    return this.batchLines.length > 0;
  }

  /** Takes a frame; true when there is nothing more to wait for. */
  hear(frame: Buffer, ms: number): boolean {
    this.frames += 1;
    this.lastMs = ms;
    const { parts, problems, outline } = splitHl7File(frame);
    const [problem] = problems;
    if (problem) this.trouble = `${problem.place}: ${problem.message} (${problem.code})`;
    if (outline !== undefined) {
      const lines = frame.toString("utf8").split(/[\r\n]+/);
      this.batchLines.push(...lines.filter((line) => /^(?:FHS|BHS|BTS|FTS)(?![A-Za-z0-9])/.test(line)));
    }
    for (const { raw } of parts) this.#take(raw, ms);
    if (this.isBatch || this.whole !== undefined) return true;
    const { asked, answered } = this.counts;
    return answered === asked && asked > 0;
  }

  #take(raw: Buffer, ms: number): void {
    const answer = readAcknowledgment(raw);
    if (answer === undefined) {
      this.trouble ??= "a message came back that is no acknowledgement";
      return;
    }
    const { controlId } = answer;
    const [entry] = this.#openById.get(controlId) ?? [];
    if (entry !== undefined) this.#record(entry, answer, ms);
    else if (controlId === undefined || this.#batchControlIds.includes(controlId)) this.whole = answer;
    else this.strays.push(answer);
  }

  #record(entry: Entry, answer: Acknowledgment, ms: number): void {
    const { message, earlier } = entry;
    entry.ms = ms;
    // CA says that the message is kept; AA, AE or AR says what became of it.
    if (answer.code === "CA" && message.hasApplicationAck) {
      earlier.push(answer);
      return;
    }
    entry.answer = answer;
    this.#openById.get(message.controlId?.trim())?.shift();
    if (!message.isUnasked) this.counts.answered += 1;
  }

  /** What became of each message. @param ms how long it took to come to this end */
  sent(ms: number): Sent[] {
    return this.#entries.map((entry) => {
      const { message, earlier, answer } = entry;
      const common = { ordinal: message.ordinal, controlId: message.controlId, earlier, problem: undefined };
      if (answer !== undefined)
        return { ...common, answer, ms: entry.ms, verdict: verdictOf(answer), reason: undefined };
      const end = this.#endWithout(message);
      return { ...common, answer: undefined, ms, ...end };
    });
  }

  /** What silence about a message means. */
  #endWithout({ isUnasked }: Sendable): Pick<Sent, "verdict" | "reason"> {
    const { whole } = this;
    if (whole !== undefined)
      return { verdict: verdictOf(whole), reason: `${whole.code}, as the answer to all says` };
    if (isUnasked) return { verdict: "unasked", reason: WANTS_NO_ANSWER };
    if (this.isBatch && this.trouble === undefined && this.#hasErrorsOnly)
      return { verdict: "accepted", reason: "not in the batch that came back, which holds errors only" };
    return { verdict: "unanswered", reason: "no answer" };
  }

  /** HL7 lets a batch answer only what went wrong, a warning being in ERR beside AA (chapter 2.10.3). */
  get #hasErrorsOnly(): boolean {
    const answers = this.#entries.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
    return answers.every((answer) => !isTaken(answer) || /(?:^|[\r\n])ERR/.test(answer.text.reveal()));
  }
}

function verdictOf(answer: Acknowledgment): "accepted" | "refused" {
  return isTaken(answer) ? "accepted" : "refused";
}
