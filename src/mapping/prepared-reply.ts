import { phi } from "../core/phi.ts";
import { planAcks } from "../formats/hl7/ack-mode.ts";
import { answerType, type MessageAnswer } from "./answer-hl7.ts";
import { isMessageType } from "./message-type.ts";
import { readOriginal } from "./original.ts";
import type { Hl7Profile } from "./profile.ts";
import { createReplier, type ReplySettings } from "./reply-hl7.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** What is new in each answer, besides MSA-2. The control ids are plain: letters, digits, `.`, `_` and `-`. */
export interface ReplyValues {
  readonly occurredAt: Date;
  /** MSH-10 of the answer. */
  readonly controlId: string;
  /** MSH-10 of the application acknowledgement where there are two. */
  readonly laterControlId: () => string;
}

/** The answer to one message that was taken and came for the first time. */
export interface PreparedReply {
  /** What `isWhole` of a replier says of this answer. */
  readonly isWhole: boolean;
  /** The bytes that `compose` of a replier gives, both answers in one where there are two; undefined for no answer. */
  compose(values: ReplyValues): Buffer | undefined;
}

/** An answer without the values of {@link ReplyValues} and MSA-2. */
interface Form {
  readonly isWhole: boolean;
  readonly messages: readonly FormMessage[];
}

interface FormMessage {
  /** What stands before MSH-7, between it and MSH-10, between that and MSA-2, and after; a character for each byte. */
  readonly pieces: readonly [string, string, string, string];
  readonly isLater: boolean;
}

/**
 * A header that a form can serve: nothing but standard delimiters, a time that is one, a control id that reads the same
 * decoded and escaped, a CR at the end and no LF before it. Between them stand MSH-3 to 6, MSH-8 and 9, and the rest.
 */
const HEADER =
  /^MSH\|\^~\\&\|((?:[^|\r\n]*\|){4})[0-9.+-]*(\|[^|\r\n]*\|[^|\r\n]*\|)([\w.-]{1,200})(\|[^\r\n]*)\r/;

/** A connector seldom has more than a few senders and types; whatever varies in a header must not fill the memory. */
const MOST_HEADERS = 1_000;
const MOST_CHARACTERS = 1_000;

/** Stand for the values of an answer while its form is made; a header with one of them has no form. */
export const STAND_INS = {
  occurredAt: new Date("8642-09-17T05:31:47Z"),
  controlId: "FORM-OUR-ID-4YQ8ZK",
  laterControlId: "FORM-LATER-ID-7TWN2C",
  messageControlId: "FORM-THEIR-ID-9HX5VD",
} as const;

/**
 * Answers to messages of one connector that are in order. The answers to a sender's messages differ in MSH-7, MSH-10 and
 * MSA-2 alone, so each is composed from a form, which is what the composer of all answers made of the same header. Only
 * what the header alone decides has a form: no orders that are echoed, no fields of the site's own.
 */
export class PreparedReplies {
  readonly #profile: Hl7Profile;
  readonly #settings: ReplySettings;
  /** By what it was read in and the header without MSH-7 and MSH-10, the oldest first. */
  readonly #formByHeader = new Map<string, Form | "seen once" | "none">();

  constructor(profile: Hl7Profile, settings: ReplySettings) {
    this.#profile = profile;
    this.#settings = settings;
  }

  /**
   * The answer to a message if it is taken and no repeat; undefined where it has to be composed. A form is made when a
   * header comes for the second time, since one that is new with each message would cost more than it saves.
   *
   * @param text the whole message, decoded
   * @param encoding what it was read in, which its header alone doesn't tell
   */
  find(text: string, encoding?: string): PreparedReply | undefined {
    const end = text.indexOf("\r");
    if (end === -1 || end > MOST_CHARACTERS) return undefined;
    const match = HEADER.exec(text);
    if (match === null) return undefined;
    const [, parties = "", type = "", messageControlId = "", rest = ""] = match;
    // The first has four separators and the second three, so no two headers give the same.
    const key = `${encoding}\r${parties}${type}${rest}`;
    let form = this.#formByHeader.get(key);
    if (form === undefined) this.#remember(key);
    if (form === "seen once") {
      const header = `MSH|^~\\&|${parties}${type}${STAND_INS.messageControlId}${rest}\r`;
      form = this.#makeForm(header, encoding) ?? "none";
      this.#formByHeader.set(key, form);
    }
    if (form === undefined || form === "none") return undefined;
    return new FilledForm(form, messageControlId, this.#profile.results.timeZone);
  }

  #remember(header: string): void {
    const [oldest] = this.#formByHeader.size < MOST_HEADERS ? [] : this.#formByHeader.keys();
    if (oldest !== undefined) this.#formByHeader.delete(oldest);
    // A copy: a piece of the message's text would keep the whole of it in memory.
    this.#formByHeader.set(Buffer.from(header, "utf8").toString("utf8"), "seen once");
  }

  /** Undefined unless the header alone says how its message is answered. */
  #makeForm(header: string, encoding: string | undefined): Form | undefined {
    const profile = this.#profile;
    const read = { text: phi(header), encoding };
    const message = { messageId: "", connector: "", receivedAt: STAND_INS.occurredAt, ...read };
    const original = readOriginal(message, profile.results);
    const { messageCode, triggerEvent } = original.header;
    // Any other type may be an acknowledgement, which is told by the segments that follow.
    if (!isMessageType(profile.accept, { messageCode, triggerEvent })) return undefined;
    if ((profile.results.fields ?? []).length > 0) return undefined;
    if (answerType(original) !== undefined && this.#mayEcho(original.header)) return undefined;
    const replier = createReplier(message, profile, this.#settings);
    const { occurredAt, controlId, laterControlId } = STAND_INS;
    const common = { outcomeId: "", controlId, occurredAt, message };
    const answer: MessageAnswer = { ...common, kind: "acknowledged", orders: [], isDuplicate: false };
    const time = formatHl7Timestamp(occurredAt, profile.results.timeZone);
    const messages: FormMessage[] = [];
    for (const bytes of replier.compose(answer, laterControlId)) {
      const cut = cutApart(bytes.toString("latin1"), time);
      if (cut === undefined) return undefined;
      messages.push(cut);
    }
    return { isWhole: replier.isWhole(answer), messages };
  }

  /** Whether one of the answers on the connection is an application acknowledgement of the message's own type. */
  #mayEcho(header: Parameters<typeof planAcks>[0]): boolean {
    const { form, applicationAck } = this.#settings;
    if (form === "plain") return false;
    const { immediate, deferred } = planAcks(header, "taken");
    return immediate === "AA" || (deferred !== undefined && applicationAck === "connection");
  }
}

/** The pieces of an answer, whose bytes are read as a character each; undefined unless each stand-in is there once. */
function cutApart(text: string, time: string): FormMessage | undefined {
  const { controlId, laterControlId, messageControlId } = STAND_INS;
  const isLater = text.includes(laterControlId);
  if (isLater && text.includes(controlId)) return undefined;
  const pieces: string[] = [];
  let from = 0;
  for (const value of [time, isLater ? laterControlId : controlId, messageControlId]) {
    const at = text.indexOf(value);
    if (at < from || at !== text.lastIndexOf(value)) return undefined;
    pieces.push(text.slice(from, at));
    from = at + value.length;
  }
  const [beforeTime = "", beforeId = "", beforeTheirs = ""] = pieces;
  return { pieces: [beforeTime, beforeId, beforeTheirs, text.slice(from)], isLater };
}

class FilledForm implements PreparedReply {
  readonly #form: Form;
  readonly #messageControlId: string;
  readonly #timeZone: string;

  constructor(form: Form, messageControlId: string, timeZone: string) {
    this.#form = form;
    this.#messageControlId = messageControlId;
    this.#timeZone = timeZone;
  }

  get isWhole(): boolean {
    return this.#form.isWhole;
  }

  compose({ occurredAt, controlId, laterControlId }: ReplyValues): Buffer | undefined {
    const { messages } = this.#form;
    if (messages.length === 0) return undefined;
    const time = formatHl7Timestamp(occurredAt, this.#timeZone);
    let text = "";
    for (const { pieces, isLater } of messages) {
      const [beforeTime, beforeId, beforeTheirs, end] = pieces;
      const id = isLater ? laterControlId() : controlId;
      text += beforeTime + time + beforeId + id + beforeTheirs + this.#messageControlId + end;
    }
    return Buffer.from(text, "latin1");
  }
}
