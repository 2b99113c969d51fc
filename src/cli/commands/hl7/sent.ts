import type { Acknowledgment } from "../../../connectors/mllp/acknowledgment.ts";
import type { Failure } from "../../../core/failures.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { hideHl7 } from "../../output/hidden.ts";
import { JsonDocument } from "../../output/list.ts";
import { clean } from "../../output/text.ts";
import type { Session } from "../../session.ts";

/** What became of one message that was to be sent. */
export interface Sent {
  readonly ordinal: number;
  readonly controlId: string | undefined;
  readonly verdict: "accepted" | "refused" | "unanswered" | "unasked";
  /** From the sending to the last answer, or to when it was given up. */
  readonly ms: number;
  /** The last acknowledgement. */
  readonly answer: Acknowledgment | undefined;
  /** What was acknowledged before: CA, where AA or AE follows. */
  readonly earlier: readonly Acknowledgment[];
  /** Why there is no answer. */
  readonly problem: Failure | undefined;
  /** What the verdict rests on where it is no answer of its own. */
  readonly reason: string | undefined;
}

/** Why a message has no answer that wants none. */
export const WANTS_NO_ANSWER = "sent; by MSH-15 and MSH-16 it wants no answer";

/** Messages that are shown before it is looked whether anybody reads that. */
const DRAIN_EVERY = 50;

const COLOURS = { accepted: "green", unasked: "green", refused: "red", unanswered: "red" } as const;

/** Shows what became of messages as they are sent, and what that makes in all. */
export class SendReport {
  readonly session: Session;
  readonly #total: number;
  readonly #document: JsonDocument | undefined;
  readonly #frames: unknown[] = [];
  readonly #counts = { accepted: 0, refused: 0, unanswered: 0, unasked: 0 };
  #hasFailed = false;
  #hasStopped = false;

  /** @param total messages that are to be sent, all rounds together */
  constructor(session: Session, total: number) {
    this.session = session;
    this.#total = total;
    this.#document = session.isJson ? new JsonDocument(session, "messages") : undefined;
  }

  /** It was asked to stop: what is under way is the last. */
  stop(): void {
    this.#hasStopped = true;
  }

  /** Shows a message; false when no further one should be sent, since it was asked to stop or nobody reads. */
  async add(sent: Sent): Promise<boolean> {
    this.#counts[sent.verdict] += 1;
    if (this.#document) this.#document.add(this.#json(sent));
    else this.#print(sent);
    if (this.#hasStopped) return false;
    return this.#done % DRAIN_EVERY !== 0 || this.session.isRead();
  }

  /**
   * Shows a frame with several messages, before those.
   * @param hasFailed whether it has no complete answer
   */
  addFrame(json: unknown, lines: readonly string[], hasFailed: boolean): void {
    this.#frames.push(json);
    if (!this.#document) this.session.lines(lines);
    this.#hasFailed ||= hasFailed;
  }

  /** Shows the sums and gives the exit status: 4 when nothing was answered, 1 when anything was not accepted. */
  end(): ExitStatus | undefined {
    const { accepted, refused, unanswered, unasked } = this.#counts;
    const unsent = this.#total - this.#done;
    if (this.#document) {
      const frames = this.#frames.length === 0 ? {} : { frames: this.#frames };
      this.#document.end({ ...frames, counts: { ...this.#counts, unsent } });
    } else {
      const words = [
        `${accepted} accepted, ${refused} refused, ${unanswered} without an answer`,
        ...(unasked > 0 ? [`${unasked} that want none`] : []),
        ...(unsent > 0 ? [`${unsent} not sent`] : []),
      ];
      this.session.line(words.join(", "));
    }
    if (!this.#hasFailed && refused + unanswered + unsent === 0) return undefined;
    return accepted + refused + unasked === 0 && !this.#hasStopped ? EXIT.unreachable : EXIT.failed;
  }

  get #done(): number {
    const { accepted, refused, unanswered, unasked } = this.#counts;
    return accepted + refused + unanswered + unasked;
  }

  #json({ ordinal, controlId, verdict, ms, answer, earlier, problem }: Sent) {
    const textOf = (each: Acknowledgment) => answerLines(each, this.session).join("\n");
    return {
      ...{ ordinal, verdict, ms },
      controlId: controlId ?? null,
      code: answer?.code ?? null,
      condition: answer?.condition ?? null,
      answer: answer ? textOf(answer) : null,
      earlier: earlier.map((each) => ({ code: each.code, answer: textOf(each) })),
      problem: problemJson(problem),
    };
  }

  #print({ ordinal, controlId, verdict, ms, answer, earlier, problem, reason }: Sent): void {
    const { session } = this;
    const what = clean(`message ${ordinal} (${controlId ?? "no control id"})`);
    for (const each of earlier) {
      session.line(`${what}: ${each.code}, an application acknowledgement is to follow`);
      session.lines(answerLines(each, session), 2);
    }
    if (problem) session.lines(problemLines(`${what}: `, problem, session));
    else if (answer === undefined || reason !== undefined)
      session.line(`${what}: ${session.paint(COLOURS[verdict], reason ?? verdict)}`);
    else {
      session.line(`${what}: ${session.paint(COLOURS[verdict], answer.code)} after ${ms} ms`);
      session.lines(answerLines(answer, session), 2);
    }
  }
}

/** The lines of an acknowledgement, with what may be a patient's hidden unless it may be shown. */
export function answerLines({ text }: Acknowledgment, { mayShowPhi }: Session): string[] {
  return hideHl7(text.reveal(), mayShowPhi);
}

/** Why something could not be sent or was not answered, with its hint. @param before what stands before the words */
export function problemLines(before: string, problem: Failure, session: Session): string[] {
  const words = `${before}${clean(problem.message)} (${problem.code})`;
  return [session.paint("red", words), `  ${problem.mend}`];
}

/** The same for programs. */
export function problemJson(problem: Failure | undefined) {
  return problem === undefined ? null : { code: problem.code, message: problem.message };
}
