import type { Acknowledgment } from "../connectors/mllp/acknowledgment.ts";
import type { Failure } from "../core/failures.ts";
import { clean } from "./clean.ts";
import { hideHl7 } from "./hidden.ts";
import type { Session } from "./session.ts";

/** How a message that was to be sent ended. */
export type SentVerdict = "accepted" | "refused" | "unanswered" | "unasked";

/** What became of one message. */
export interface Sent {
  readonly ordinal: number;
  readonly controlId: string | undefined;
  readonly verdict: SentVerdict;
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

/** The lines of an acknowledgement, with what may be a patient's hidden unless it may be shown. */
export function answerLines({ text }: Acknowledgment, mayShowPhi: boolean): string[] {
  return hideHl7(text.reveal(), mayShowPhi);
}

/** As a program reads it. */
export function sentJson(sent: Sent, mayShowPhi: boolean) {
  const { ordinal, controlId = null, verdict, ms, answer, earlier, problem } = sent;
  const textOf = (each: Acknowledgment) => answerLines(each, mayShowPhi).join("\n");
  return {
    ordinal,
    controlId,
    verdict,
    ms,
    code: answer?.code ?? null,
    condition: answer?.condition ?? null,
    answer: answer === undefined ? null : textOf(answer),
    earlier: earlier.map((each) => ({ code: each.code, answer: textOf(each) })),
    problem: problem === undefined ? null : { code: problem.code, message: problem.message },
  };
}

/** As a person reads it. */
export function printSent(sent: Sent, session: Session): void {
  const { ordinal, controlId, verdict, ms, answer, earlier, problem, reason } = sent;
  const what = clean(`message ${ordinal} (${controlId ?? "no control id"})`);
  const colour = { accepted: "green", unasked: "green", refused: "red", unanswered: "red" } as const;
  const lines = (each: Acknowledgment) => {
    for (const line of answerLines(each, session.mayShowPhi)) session.line(`  ${line}`);
  };
  for (const each of earlier) {
    session.line(`${what}: ${each.code}, an application acknowledgement is to follow`);
    lines(each);
  }
  if (problem !== undefined) {
    session.line(session.paint("red", `${what}: ${clean(problem.message)} (${problem.code})`));
    session.line(`  ${problem.mend}`);
  } else if (answer === undefined || reason !== undefined) {
    session.line(`${what}: ${session.paint(colour[verdict], reason ?? verdict)}`);
  } else {
    session.line(`${what}: ${session.paint(colour[verdict], answer.code)} after ${ms} ms`);
    lines(answer);
  }
}
