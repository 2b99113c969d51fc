import { splitHl7File } from "./file.ts";

const NEXT_MESSAGE = Buffer.from("\rMSH");

/** Messages of ours as one text, in their order; undefined where there is none. `splitJoined` gives them back. */
export function joinMessages(messages: readonly Buffer[]): Buffer | undefined {
  return messages.length <= 1 ? messages[0] : Buffer.concat(messages);
}

/** The messages of a text of ours; nearly always it is one, and no other begins in it. */
export function splitJoined(joined: Buffer | undefined): readonly Buffer[] {
  if (joined === undefined || joined.length === 0) return [];
  if (!joined.includes(NEXT_MESSAGE)) return [joined];
  return splitHl7File(joined).parts.map(({ raw }) => raw);
}
