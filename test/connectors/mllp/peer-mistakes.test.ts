import { describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { framed, withListener } from "./with-listener.ts";

/** Each was seen in an MLLP server of others; what concerns the messages themselves is tested with the formats. */
describe("mistakes of other listeners that are not made here", () => {
  const three = ["one", "two", "three"];
  const answers = three.map((text) => framed(`ok ${text}`)).join("");

  it("what was answered is not answered again with the next message", () =>
    withListener({}, async ({ open, taken }) => {
      const peer = await open();
      for (const [n, text] of three.entries()) {
        peer.write(framed(text));
        await eventually(() => taken.length > n && peer.heard.endsWith(framed(`ok ${text}`)));
      }
      expect(peer.heard).toBe(answers);
      expect(taken).toEqual(three);
    }));

  it("messages that come in one chunk are not merged into one", () =>
    withListener({}, async ({ open, taken }) => {
      const peer = await open();
      peer.write(three.map(framed).join(""));
      await eventually(() => peer.heard.length >= answers.length);
      expect(peer.heard).toBe(answers);
      expect(taken).toEqual(three);
    }));

  it("a good frame is not dropped because bad bytes shared its chunk", () =>
    withListener({}, async ({ open, taken, unended }) => {
      const peer = await open();
      peer.write(`junk${framed("one")}more junk\x0bwithout an end${framed("two")}`);
      const both = framed("ok one") + framed("ok two");
      await eventually(() => peer.heard.length >= both.length);
      expect(peer.heard).toBe(both);
      expect(taken).toEqual(["one", "two"]);
      expect(unended).toEqual(["without an end"]);
    }));
});
