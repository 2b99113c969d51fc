import { EXIT, type ExitStatus } from "./exit-status.ts";
import { printSent, type Sent, sentJson } from "./hl7-sent.ts";
import { JsonDocument } from "./json-document.ts";
import type { Session } from "./session.ts";

/** Messages that are told of before it is looked whether anybody reads that. */
const DRAIN_EVERY = 50;

/** Tells what became of messages as they are sent, and what that makes in all. */
export class SendReport {
  readonly #session: Session;
  readonly #total: number;
  readonly #document: JsonDocument | undefined;
  readonly #frames: unknown[] | undefined;
  readonly #counts = { accepted: 0, refused: 0, unanswered: 0, unasked: 0 };
  #hasFailed = false;
  #hasStopped = false;

  /**
   * @param total messages that are to be sent, all rounds together
   * @param hasFrames whether the JSON document tells of frames too
   */
  constructor(session: Session, total: number, hasFrames: boolean) {
    this.#session = session;
    this.#total = total;
    this.#document = session.isJson ? new JsonDocument(session, "messages") : undefined;
    this.#frames = hasFrames ? [] : undefined;
  }

  /** It was asked to stop: what is under way is the last. */
  stop(): void {
    this.#hasStopped = true;
  }

  /** Tells of a message; false when no further one should be sent, since it was asked to stop or nobody reads. */
  async add(sent: Sent): Promise<boolean> {
    this.#counts[sent.verdict] += 1;
    if (this.#document) this.#document.add(sentJson(sent, this.#session.mayShowPhi));
    else printSent(sent, this.#session);
    if (this.#hasStopped) return false;
    return this.#done % DRAIN_EVERY !== 0 || this.#session.isRead();
  }

  /** Keeps what a program is told of a frame. @param hasFailed whether it has no whole answer */
  addFrame(frame: unknown, hasFailed: boolean): void {
    this.#frames?.push(frame);
    this.#hasFailed ||= hasFailed;
  }

  get #done(): number {
    const { accepted, refused, unanswered, unasked } = this.#counts;
    return accepted + refused + unanswered + unasked;
  }

  /** Tells the sums and gives the exit status: 4 when nothing was answered, 1 when anything was not accepted. */
  end(): ExitStatus | undefined {
    const { accepted, refused, unanswered, unasked } = this.#counts;
    const unsent = this.#total - this.#done;
    const frames = this.#frames === undefined ? {} : { frames: this.#frames };
    this.#document?.end({ ...frames, counts: { ...this.#counts, unsent } });
    if (!this.#document) {
      const more = [
        ...(unasked > 0 ? [`${unasked} that want none`] : []),
        ...(unsent > 0 ? [`${unsent} not sent`] : []),
      ];
      this.#session.line(
        [`${accepted} accepted, ${refused} refused, ${unanswered} without an answer`, ...more].join(", "),
      );
    }
    const isFailed = this.#hasFailed || refused + unanswered + unsent > 0;
    if (!isFailed) return undefined;
    return accepted + refused + unasked === 0 && !this.#hasStopped ? EXIT.unreachable : EXIT.failed;
  }
}
