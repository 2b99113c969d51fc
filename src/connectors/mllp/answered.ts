import type { Logger } from "../../core/logger.ts";
import { type Acknowledgment, isTaken, withCondition } from "./acknowledgment.ts";

/** Told of an error with which a peer answers a message that it had acknowledged before. Must not throw. */
export type OnTakenBack = (answer: string) => void;

/** So many messages are known again. */
const REMEMBERED = 100;

interface AnsweredMessage {
  readonly controlId: string;
  /** Absent where it was answered with an error at once, or nobody wants to know. */
  readonly onTakenBack: OnTakenBack | undefined;
}

/** The last messages that were answered, whose second acknowledgement, such as AA after CA, is no surprise. */
export class Answered {
  readonly #logger: Logger;
  readonly #messages: AnsweredMessage[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Remembers a message by the answer that ended the waiting for one. */
  add(controlId: string, answer: Acknowledgment, onTakenBack: OnTakenBack | undefined): void {
    this.#messages.push({ controlId, onTakenBack: isTaken(answer) ? onTakenBack : undefined });
    if (this.#messages.length > REMEMBERED) this.#messages.shift();
  }

  /**
   * Takes a later answer; false when it is about none of these messages. AA after CA says nothing new. Anything else comes
   * too late to be sent again, and is for a person to see to.
   */
  hear(answer: Acknowledgment): boolean {
    const before = this.#messages.findLast(({ controlId }) => controlId === answer.controlId);
    if (before === undefined) return false;
    if (isTaken(answer)) return true;
    const { code, condition } = answer;
    this.#logger.warn(
      { code, condition, messageControlId: before.controlId },
      "the lab system met an error with a result that it had acknowledged before",
    );
    before.onTakenBack?.(withCondition(answer));
    return true;
  }
}
