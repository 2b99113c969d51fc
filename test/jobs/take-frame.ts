import { expect } from "vitest";
import { toMessage } from "../../src/connectors/hl7-drop/hl7-drop.ts";
import type { Accepted, IncomingMessage } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { splitHl7File } from "../../src/formats/hl7/file.ts";
import { answerBatchFrame, type ConnectionReplies, replyTo } from "../../src/jobs/intake/replies.ts";
import { createMapper, type Mapper } from "../../src/mapping/inbound/mapper.ts";
import { facilityIdByCode, hl7Profile } from "../mapping/mapped.ts";
import { at } from "../support/places.ts";

/**
 * So large is the larger frame of each comparison, bytes; the smaller has a quarter. One that is refused for its size is halved until it
 * is read: what is quadratic takes twice the noise or more at one of them.
 */
const LARGE = [200_000, 100_000, 50_000, 25_000, 12_500, 6_250];
/** Up to here times are noise, ms. */
const SHORT_MS = 120;
const LIMITS = { messages: 100_000, batches: 100_000 };

let mapper: Mapper;
let replies: ConnectionReplies;

/** Before any frame is taken. */
export async function openTaking(): Promise<void> {
  // What is repeated in results is read for each container.
  const fields = { "SPM-4": "{SPM-4}", "OBX-18": "{SAC-4.1}", "OBX-15": "{ZBX-2}", "NTE-3": "{NTE-3}" };
  const profile = await hl7Profile({ results: { fields } });
  mapper = createMapper(profile, { facilityIdByCode });
  replies = {
    profile,
    form: "order",
    applicationAck: "connection",
    reusedControlId: "take",
    instanceCode: "ABC123",
  };
}

/** All that is done about a frame but to keep it. */
export function takeFrame(frame: Buffer): Accepted[] {
  const { parts, problems, outline } = splitHl7File(frame, LIMITS);
  const isWhole = problems.length === 0 && (parts.length > 0 || outline !== undefined);
  const messages: IncomingMessage[] = isWhole
    ? parts.map((part) => toMessage(part, {}))
    : [{ ordinal: 1, place: at("message 1"), raw: phi(frame), content: { kind: "unreadable", problems } }];
  const accepted = messages.map((each): Accepted => {
    const { verdict, problems: found, echo } = mapper.map(each);
    const incoming = { connector: "lims", echo, peer: { address: "10.0.0.9" }, receivedAt: new Date(0) };
    const reply = replyTo(incoming, replies).compose({ verdict, problems: found, messageId: 1 });
    return { ordinal: each.ordinal, place: each.place, verdict, problems: found, orders: [], reply };
  });
  if (isWhole && outline) answerBatchFrame(replies, outline, frame, accepted);
  return accepted;
}

interface Taken {
  /** Processor time of this thread, ms: what the machine does beside it doesn't count. */
  readonly ms: number;
  /** Whether it was gone through to its end. */
  readonly isRead: boolean;
}

function take(text: string): Taken {
  const frame = Buffer.from(text);
  const before = process.threadCpuUsage();
  const accepted = takeFrame(frame);
  const { user, system } = process.threadCpuUsage(before);
  return { ms: (user + system) / 1_000, isRead: accepted.every(({ verdict }) => verdict !== "refused") };
}

/** Three times, since a collection of garbage may fall into any. Says whether the larger one was read to its end. */
function compare(small: string, large: string): boolean {
  const tries: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const four = take(large);
    if (four.ms < SHORT_MS) return four.isRead;
    const one = take(small);
    if (four.ms < 10 * one.ms) return four.isRead;
    tries.push(`${Math.round(one.ms)} ms and ${Math.round(four.ms)} ms`);
  }
  expect.fail(`each time more: ${tries.join(", ")}`);
}

/** That four times as much in such a frame takes no more than four times the work, or so. */
export function expectNoMoreWork(make: (count: number) => string): void {
  const each = (make(200).length - make(100).length) / 100;
  for (const bytes of LARGE)
    if (compare(make(Math.ceil(bytes / each / 4)), make(Math.ceil(bytes / each)))) return;
}
