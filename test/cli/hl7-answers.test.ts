import { describe, expect, it } from "vitest";
import { FrameAnswers } from "../../src/cli/commands/hl7/answers.ts";
import { readSendableFrame } from "../../src/cli/commands/hl7/sendable.ts";
import { ackText } from "./with-hl7.ts";
import { hl7Text } from "./with-lab.ts";

const message = (id: string, acks = "") =>
  hl7Text().replace("MSG0001", id).replace("|P|2.5.1", `|P|2.5.1${acks}`);
const batchOf = (...messages: string[]) =>
  `BHS|^~\\&|L|N|C|B|||||B-1\r${messages.join("")}BTS|${messages.length}\r`;

/** Hears these frames for a batch of messages; gives whether each was the last, and what became of the messages. */
function hear(messages: readonly string[], ...frames: string[]) {
  const answers = new FrameAnswers(readSendableFrame("b.hl7", Buffer.from(batchOf(...messages))));
  const isLast = frames.map((frame, n) => answers.hear(Buffer.from(frame), n + 1));
  return { answers, isLast, ends: answers.sent(99).map(({ verdict, answer }) => [verdict, answer?.code]) };
}

const TWO = [message("M-1"), message("M-2")];

describe("the answers to several messages of a frame", () => {
  it("are told by their MSA-2, in whatever order they come, each in a frame of its own", () => {
    const { isLast, ends } = hear(TWO, ackText("AE", "M-2"), ackText("AA", "M-1"));
    expect(isLast).toEqual([false, true]);
    expect(ends).toEqual([
      ["accepted", "AA"],
      ["refused", "AE"],
    ]);
  });

  it("may have blanks around code and id, and small letters", () => {
    const { ends } = hear(TWO, ackText("aa ", " M-2 "), ackText("AE", "M-1 "));
    expect(ends).toEqual([
      ["refused", "AE"],
      ["accepted", "AA"],
    ]);
    const spaced = hear([message("M-1 "), message("M-2")], ackText("AA", "M-1 "), ackText("AA", "M-2"));
    expect(spaced.isLast).toEqual([false, true]);
  });

  it("may come in one batch, and nothing is waited for behind it", () => {
    const { isLast, ends, answers } = hear(TWO, batchOf(ackText("AA", "M-1"), ackText("AR", "M-2")));
    expect(isLast).toEqual([true]);
    expect(ends).toEqual([
      ["accepted", "AA"],
      ["refused", "AR"],
    ]);
    expect(answers.batchLines).toEqual(["BHS|^~\\&|L|N|C|B|||||B-1", "BTS|2"]);
  });

  it("may be left out of a batch that tells errors only, which then were taken", () => {
    expect(hear(TWO, batchOf(ackText("AE", "M-2"))).ends).toEqual([
      ["accepted", undefined],
      ["refused", "AE"],
    ]);
    expect(hear(TWO, batchOf()).ends.flat()).toEqual(["accepted", undefined, "accepted", undefined]);
    const warned = batchOf(ackText("AA", "M-2", "ERR|||103|W\r"));
    expect(hear(TWO, warned).ends[0]).toEqual(["accepted", undefined]);
  });

  it("are missed in a batch that tells what was taken, or that is cut short", () => {
    expect(hear(TWO, batchOf(ackText("AA", "M-2"))).ends[0]).toEqual(["unanswered", undefined]);
    const cut = hear(TWO, batchOf().replace("BTS|0\r", ""));
    expect(cut.ends[0]).toEqual(["unanswered", undefined]);
    expect(cut.answers.trouble).toContain("(HL7_BATCH_INCOMPLETE)");
  });

  it.each([
    ["nothing", ""],
    ["the batch", "B-1"],
  ])("are one for all when MSA-2 names %s", (_, controlId) => {
    const { isLast, ends } = hear(TWO, batchOf(ackText("AR", controlId)));
    expect(isLast).toEqual([true]);
    expect(ends.map(([verdict]) => verdict)).toEqual(["refused", "refused"]);
    expect(hear(TWO, ackText("AA", controlId)).ends.map(([verdict]) => verdict)).toEqual([
      "accepted",
      "accepted",
    ]);
  });

  it("are two for a message in enhanced mode, and none for one that wants none", () => {
    const messages = [message("M-1", "|||AL|AL"), message("M-2", "|||NE|NE")];
    const { isLast, answers } = hear(messages, ackText("CA", "M-1"), ackText("AE", "M-1"));
    expect(isLast).toEqual([false, true]);
    const [first, second] = answers.sent(99);
    expect(first).toMatchObject({ verdict: "refused", ms: 2, earlier: [{ code: "CA" }] });
    expect(second).toMatchObject({ verdict: "unasked" });
  });

  it("go to the earlier of two messages with the same control id first", () => {
    const { isLast, ends } = hear(
      [message("M-1"), message("M-1")],
      ackText("AA", "M-1"),
      ackText("AE", "M-1"),
    );
    expect(isLast).toEqual([false, true]);
    expect(ends.map(([verdict]) => verdict)).toEqual(["accepted", "refused"]);
  });

  it("are no answers when they name a message that was not sent, or are no acknowledgements", () => {
    const { isLast, ends, answers } = hear(TWO, ackText("AA", "M-9"), message("M-8"), "garbage");
    expect(isLast).toEqual([false, false, false]);
    expect(ends.flat()).toEqual(["unanswered", undefined, "unanswered", undefined]);
    expect(answers.strays.map(({ controlId }) => controlId)).toEqual(["M-9"]);
    expect(answers.trouble).toBeDefined();
  });
});
