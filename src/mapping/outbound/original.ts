import { Failure } from "../../core/failures.ts";
import type { OutcomeMessage } from "../../core/outcome.ts";
import { type Encoding, findEncoding, isWide } from "../../formats/encoding.ts";
import { charsetOf, type ResultCharset, type ResultEncoding } from "../../formats/hl7/charset.ts";
import { createEcho, type Echo } from "../../formats/hl7/echo.ts";
import type { Written } from "../../formats/hl7/encode.ts";
import { type OrderGroup, type OrderParts, orderParts } from "../../formats/hl7/groups.ts";
import { type Hl7Header, Hl7Message } from "../../formats/hl7/message.ts";
import { orderGroupsByNumber } from "../inbound/order-hl7.ts";
import { isAcknowledgment } from "../profile/message-type.ts";
import type { Hl7Profile, ResultSettings } from "../profile/profile.ts";

/** The message that is answered, as far as it is there and readable. */
export class Original {
  /** What an answer takes its own header from, with the profile's settings applied. */
  readonly header: Partial<Hl7Header>;
  readonly echo: Echo;
  /** What a message about this one is written in. */
  readonly charset: ResultCharset;
  /** Whether there is anything to answer to: an MSH that could be read, or at least its control id. */
  readonly isAnswerable: boolean;
  readonly #answered: OutcomeMessage;
  readonly #profile: Hl7Profile;
  readonly #text: string | undefined;
  readonly #headed: Hl7Message | undefined;
  #message: Hl7Message | "unread" | undefined = "unread";

  #parts: OrderParts | undefined;
  #groupsByNumber: ReadonlyMap<string, readonly OrderGroup[]> | undefined;

  /** @param encoding what a message about this one is to be written in */
  constructor(
    answered: OutcomeMessage,
    profile: Hl7Profile,
    encoding: ResultEncoding | undefined = profile.results.encoding,
  ) {
    this.#answered = answered;
    this.#profile = profile;
    this.#text = answered.text?.reveal();
    // A message with a broken segment can still be answered as long as its first line is a header.
    const headed = tryParse(this.#text === undefined ? undefined : firstLine(this.#text)) ?? this.message;
    this.#headed = headed;
    const header: Partial<Hl7Header> = headed?.header ?? { messageControlId: answered.messageControlId };
    this.header = withSettings(header, profile.results);
    this.charset = charsetOf(encoding, answered.encoding, header.characterSet);
    this.echo = createEcho(headed, { from: byteEncodingOf(answered), to: this.charset.encoding });
    this.isAnswerable = header.messageControlId !== undefined || headed !== undefined;
  }

  /** The same message, to be answered in another character set than the settings want. */
  writtenIn(encoding: ResultEncoding): Original {
    return new Original(this.#answered, this.#profile, encoding);
  }

  /**
   * MSH-10 as it was written, for MSA-2: senders compare it letter by letter. Undefined where the header's value is just
   * that.
   */
  get writtenControlId(): Written | undefined {
    const msh = this.#headed?.first("MSH");
    return msh?.field(10) === this.header.messageControlId ? undefined : this.echo.field(msh, 10);
  }

  /**
   * Undefined when it was pruned, or its segments could not be read. Read when first asked for: many answers need the
   * header alone.
   */
  get message(): Hl7Message | undefined {
    if (this.#message === "unread") this.#message = tryParse(this.#text);
    return this.#message;
  }

  /**
   * What of it belongs to which order. Where that isn't known, for it is gone or was refused for its structure, only its header
   * can be said to be of all.
   */
  get parts(): OrderParts {
    this.#parts ??= partsOf(this.message, this.#profile);
    return this.#parts;
  }

  /** The segments of an order; none where it is gone, or a newer profile reads it otherwise. */
  groupsOf(number: string | undefined): readonly OrderGroup[] {
    return this.#byNumber.get(number ?? "") ?? [];
  }

  /** The first order number that it names. */
  get firstNumber(): string | undefined {
    return this.#byNumber.keys().next().value;
  }

  get #byNumber(): ReadonlyMap<string, readonly OrderGroup[]> {
    this.#groupsByNumber ??= orderGroupsByNumber(this.parts, this.#profile);
    return this.#groupsByNumber;
  }
}

function partsOf(message: Hl7Message | undefined, { ordersEach }: Hl7Profile): OrderParts {
  if (message === undefined) return { segments: [], shared: [], groups: [] };
  try {
    return orderParts(message, ordersEach);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { segments: [], shared: message.all("MSH"), groups: [] };
  }
}

/** What bytes of the message's own escapes mean; in UTF-16 they are what MSH-18 says, if anything. */
function byteEncodingOf({ encoding }: OutcomeMessage): Encoding | undefined {
  const found = findEncoding(encoding ?? "");
  return found === undefined || isWide(found) ? undefined : found;
}

/** Whether it is an acknowledgement itself, which is not to be answered. */
export function isAnswer(original: Original, accept: Hl7Profile["accept"]): boolean {
  const { messageCode, triggerEvent } = original.header;
  return isAcknowledgment({ messageCode, triggerEvent }, accept, () => original.message?.first("MSA"));
}

function firstLine(text: string): string {
  const [cr, lf] = [text.indexOf("\r"), text.indexOf("\n")];
  const end = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
  return end === -1 ? text : text.slice(0, end);
}

function tryParse(text: string | undefined): Hl7Message | undefined {
  if (text === undefined) return undefined;
  try {
    const message = Hl7Message.parse(text);
    return message.codes.messageCode === undefined ? undefined : message;
  } catch {
    return undefined;
  }
}

/** Our sender is the original's receiver, and the reverse; the profile may name others. */
export function withSettings(
  header: Partial<Hl7Header>,
  {
    sender,
    receiver,
    version,
  }: Pick<ResultSettings, "sender" | "receiver"> & Partial<Pick<ResultSettings, "version">>,
): Partial<Hl7Header> {
  if (sender === undefined && receiver === undefined && version === undefined) return header;
  return {
    ...header,
    ...(version === undefined ? {} : { version }),
    ...(sender?.application === undefined ? {} : { receivingApplicationParts: [sender.application] }),
    ...(sender?.facility === undefined ? {} : { receivingFacilityParts: [sender.facility] }),
    ...(receiver?.application === undefined ? {} : { sendingApplicationParts: [receiver.application] }),
    ...(receiver?.facility === undefined ? {} : { sendingFacilityParts: [receiver.facility] }),
  };
}
