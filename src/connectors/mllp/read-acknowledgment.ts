import { isUtf8 } from "node:buffer";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { type Phi, phi } from "../../core/phi.ts";
import type { AcknowledgmentCode } from "../../formats/hl7/ack.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";

/** An acknowledgement as a peer sent it. */
export interface Acknowledgment {
  /** MSA-1, in capitals. */
  readonly code: AcknowledgmentCode;
  /** MSA-2, without blanks around it: the control id of the message that is acknowledged. */
  readonly controlId: string | undefined;
  /** The HL7 error condition (ERR-3.1, or ERR-1.4 and MSA-6 before version 2.5), a code that names no patient. */
  readonly condition: string | undefined;
  /** As it came, read as UTF-8 where it is that, else as Latin-1. Words in it may name a patient. */
  readonly text: Phi;
}

/** Whether it says that the peer has the message. */
export function isTaken({ code }: Acknowledgment): boolean {
  return code === "AA" || code === "CA";
}

/** The code with the error condition, for people: `AE (207)`. */
export function withCondition({ code, condition }: Acknowledgment): string {
  return condition === undefined ? code : `${code} (${condition})`;
}

const CODES: readonly string[] = ["AA", "AE", "AR", "CA", "CE", "CR"] satisfies AcknowledgmentCode[];

/**
 * Reads an acknowledgement of whatever message type: what counts is MSA. Undefined for anything else. Bytes are read
 * one by one as characters, since codes and control ids are ASCII in every character set that MLLP can carry. Lines that
 * say nothing of it are passed over: some systems break error texts into lines, and the answer stands nevertheless. So it
 * does with blanks around the code or the id, with small letters, and after a byte order mark.
 */
export function readAcknowledgment(bytes: Buffer): Acknowledgment | undefined {
  try {
    const text = bytes.toString("latin1");
    const message = Hl7Message.parse(
      text
        .replace(UTF8_MARK, "")
        .split(/[\r\n]/)
        .filter(isTelling)
        .join("\r"),
    );
    const msa = message.first("MSA");
    const code = msa?.get(1)?.trim().toUpperCase();
    if (!isCode(code)) return undefined;
    const err = message.first("ERR");
    const condition = err?.get(3) ?? err?.get(1, 1, 4) ?? msa?.get(6);
    return {
      code,
      controlId: msa?.get(2)?.trim() || undefined,
      condition: condition !== undefined && /^[A-Za-z0-9]{1,10}$/.test(condition) ? condition : undefined,
      text: phi(isUtf8(bytes) ? bytes.toString("utf8") : text),
    };
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/** A byte order mark in UTF-8, read as Latin-1. */
const UTF8_MARK = /^\xef\xbb\xbf/;

function isTelling(line: string): boolean {
  return /^(?:MSH|MSA|ERR)(?![A-Za-z0-9])/.test(line);
}

function isCode(value: string | undefined): value is AcknowledgmentCode {
  return value !== undefined && CODES.includes(value);
}

/** Called for an error with which a peer answers a message that it had acknowledged before. Must not throw. */
export type OnTakenBack = (answer: string) => void;

/** That many messages are known again. */
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

  /**
   * Remembers a message whose answer came, or for which none is waited.
   * @param onTakenBack undefined where it was answered with an error
   */
  add(controlId: string, onTakenBack: OnTakenBack | undefined): void {
    this.#messages.push({ controlId, onTakenBack });
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
