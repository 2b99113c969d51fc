import { describe, expect, it } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { framed } from "../connectors/mllp/with-listener.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { withPythonHl7 } from "../support/python-hl7/python-hl7.ts";
import { withSite } from "../support/with-daemon.ts";
import { ackText, hl7, hl7In, SECRETS, withListen, withReceiver } from "./with-hl7.ts";
import { hl7Text } from "./with-lab.ts";

const message = (id: string) => hl7Text().replace("MSG0001", id);
const BHS = "BHS|^~\\&|LIMS|NORTH|CRYO|BANK|||||B-1\r";
const BATCH = `${BHS}${message("M-1")}${message("M-2")}BTS|2\r`;
const FILES = { "b.hl7": BATCH };

const sendWhole = (to: string, ...more: string[]) =>
  hl7(FILES, "send", "@b.hl7", "--to", to, "--one-frame", ...more);

describe("hl7 send --one-frame", () => {
  it("sends the file as one frame and tells the batch that comes back message by message", async () => {
    const listened = await withListen([], async (port, printed) => {
      const { status, stdout } = await sendWhole(`127.0.0.1:${port}`);
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^one frame with 2 messages: answered by a batch after \d+ ms\n {2}BHS\|.*\|B-1\n {2}BTS\|2\nmessage 1 \(M-1\): AA after \d+ ms\n {2}MSH.*\n {2}MSA\|AA\|M-1\nmessage 2 \(M-2\): AA /,
      );
      expect(stdout).toMatch(/\n2 accepted, 0 refused, 0 without an answer\n$/);
      await eventually(() => printed().includes("message 2 (2 of 2 in a batch): OML^O33, answered AA\n"));
    });
    for (const secret of SECRETS) expect(listened.stdout).not.toContain(secret);
  });

  it("is one JSON document for programs, with the frame in it", () =>
    withReceiver(
      (socket) => {
        const answers = ackText("AA", "M-1") + ackText("AE", "M-2", "ERR|||102|E\r");
        socket.write(framed(`BHS|^~\\&|C||L||||||C-1|B-1\r${answers}BTS|2\r`));
      },
      async (to, frames) => {
        const { status, stdout } = await sendWhole(to, "--json");
        expect(status).toBe(1);
        expect(JSON.parse(stdout)).toMatchObject({
          counts: { accepted: 1, refused: 1, unanswered: 0, unasked: 0, unsent: 0 },
          frames: [{ answerFrames: 1, isBatchAnswer: true, whole: null, problem: null }],
          messages: [
            { ordinal: 1, controlId: "M-1", verdict: "accepted", code: "AA" },
            { ordinal: 2, controlId: "M-2", verdict: "refused", code: "AE", condition: "102" },
          ],
        });
        expect(frames).toEqual([BATCH]);
      },
    ));

  it("takes single answers as well", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "M-1")) + framed(ackText("AA", "M-2"))),
      async (to) => {
        const { status, stdout } = await sendWhole(to);
        expect(status).toBe(0);
        expect(stdout).toContain("one frame with 2 messages: answered by 2 frames after ");
      },
    ));

  it("says which messages have no answer when fewer come than it waits for, with status 1", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "M-1"))),
      async (to) => {
        const { status, stdout } = await sendWhole(to, "--timeout", "1");
        expect(status).toBe(1);
        expect(stdout).toMatch(
          /^one frame with 2 messages: 1 of 2 answered, then 127\.0\.0\.1:\d+: no acknowledgement in time \(MLLP_NO_ANSWER\)\n {2}\S.*\nmessage 1 \(M-1\): AA after/,
        );
        expect(stdout).toContain("message 2 (M-2): no answer\n1 accepted, 0 refused, 1 without an answer\n");
      },
    ));

  it("ends with status 4 when nothing comes back, also for a batch without messages", () =>
    withReceiver(
      (socket) => socket.end(),
      async (to) => {
        expect((await sendWhole(to)).status).toBe(4);
        const empty = await hl7({ "e.hl7": `${BHS}BTS|0\r` }, "send", "@e.hl7", "--to", to, "--one-frame");
        expect(empty.status).toBe(4);
        expect(empty.stdout).toContain("one frame with 0 messages: ");
      },
    ));

  it("doesn't wait where none of the messages wants an answer", () =>
    withListen([], async (port, printed) => {
      const files = { "b.hl7": BATCH.replaceAll("|P|2.5.1", "|P|2.5.1|||NE|NE") };
      const words = ["send", "@b.hl7", "--to", `127.0.0.1:${port}`, "--one-frame"];
      const { status, stdout } = await hl7(files, ...words);
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout:
          "one frame with 2 messages: none wants an answer\n" +
          "message 1 (M-1): sent; by MSH-15 and MSH-16 it wants no answer\n" +
          "message 2 (M-2): sent; by MSH-15 and MSH-16 it wants no answer\n" +
          "0 accepted, 0 refused, 0 without an answer, 2 that want none\n",
      });
      await eventually(() => printed().includes("message 2 (2 of 2 in a batch): "));
    }).then(() => undefined));

  it("tells the control ids of answers that fit no message, harmless to a terminal", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "X\x1b[2J")) + framed(ackText("AR", ""))),
      async (to) => {
        const { status, stdout } = await sendWhole(to);
        expect(status).toBe(1);
        expect(stdout).toContain("AA for X?[2J, which was not sent\n");
        expect(stdout).toContain("all of it: AR\n");
        expect(stdout).toContain("message 2 (M-2): AR, as the answer to all says\n");
      },
    ));
});

describe("hl7 send of a batch, without --one-frame", () => {
  it("sends its messages one by one, and says how a batch is sent", () =>
    withReceiver(
      (socket, frame) => socket.write(framed(ackText("AA", frame.split("|")[9] ?? ""))),
      async (to, frames) => {
        const { status, stdout, stderr } = await hl7(FILES, "send", "@b.hl7", "--to", to);
        expect(status).toBe(0);
        expect(stdout).toContain("2 accepted, 0 refused, 0 without an answer\n");
        expect(stderr).toMatch(/b\.hl7 is a batch: its 2 messages are sent one by one, --one-frame sends it/);
        expect(frames).toEqual([message("M-1"), message("M-2")]);
      },
    ));
});

describe("hl7 send --one-frame to the daemon", () => {
  const order = (number: string, isWrong = false) => {
    const text = omlO33({ number }).replace(/^((?:[^|]*\|){14})[^|]*\|[^|]*/, "$1|");
    return isWrong ? text.replace(/\|19\d{6}/, "|1985") : text;
  };
  const batch = (count = 3) => `${BHS}${order("A-1")}${order("A-2", true)}${order("A-3")}BTS|${count}\r`;

  function withDaemon(
    batchResponse: "all" | "errors" | "none",
    test: (send: (text: string) => ReturnType<typeof hl7>) => Promise<void>,
  ): Promise<void> {
    const profiles = { site: { extends: "builtin/hl7-orders", results: { batchResponse } } };
    const results = { directory: "told" };
    const connector = { name: "hl7", type: "mllp", listen: { port: 0 }, results, profile: "site" };
    return withSite({ config: { profiles, connectors: [connector] } }, async (site) => {
      const daemon = await site.start();
      const { port } = daemon.connectors[0] as MllpConnector;
      const words = ["send", "@b.hl7", "--to", `127.0.0.1:${port}`, "--one-frame", "--json"];
      await test((text) => hl7In({}, { "b.hl7": text }, ...words));
    });
  }
  const codesOf = (stdout: string) =>
    JSON.parse(stdout).messages.map(({ verdict, code }: { verdict: string; code: string | null }) => [
      verdict,
      code,
    ]);

  it.each([
    ["all", [1, true], "AA"],
    ["errors", [1, true], null],
    ["none", [3, false], "AA"],
  ] as const)("tells what became of each message (batchResponse: %s)", (response, frame, code) =>
    withDaemon(response, async (send) => {
      const { status, stdout } = await send(batch());
      expect(status).toBe(1);
      expect(codesOf(stdout)).toEqual([
        ["accepted", code],
        ["refused", "AE"],
        ["accepted", code],
      ]);
      const [{ answerFrames, isBatchAnswer }] = JSON.parse(stdout).frames;
      expect([answerFrames, isBatchAnswer]).toEqual(frame);
    }),
  );

  it("tells that a batch with a wrong count was refused as a whole", () =>
    withDaemon("all", async (send) => {
      const { status, stdout } = await send(batch(7));
      expect(status).toBe(1);
      expect(codesOf(stdout)).toEqual(Array(3).fill(["refused", null]));
      expect(JSON.parse(stdout).frames[0].whole).toMatchObject({
        code: "AR",
        answer: expect.stringContaining("BTS-1 says 7, found 3 messages"),
      });
    }));
});

describe.runIf(machineHas("mllp_send"))("hl7 send --one-frame and python-hl7", () => {
  it("tells what a receiver left out that takes a frame for one message", () =>
    withPythonHl7(async ({ listen }) => {
      const { port } = await listen();
      const files = { "two.hl7": message("M-1") + message("M-2") };
      const words = ["send", "@two.hl7", "--to", `127.0.0.1:${port}`, "--one-frame", "--timeout", "1"];
      const { status, stdout } = await hl7(files, ...words);
      expect(status).toBe(1);
      expect(stdout).toMatch(/message 1 \(M-1\): AA after .*message 2 \(M-2\): no answer\n/s);
    }));

  it("sends a batch that it composed, as it is, and knows its messages", () =>
    withPythonHl7(async ({ compose }) => {
      const text = await compose({
        batches: [{ controlId: "B-7", messages: [message("M-1"), message("M-2")] }],
      });
      await withListen([], async (port) => {
        const words = ["send", "@b.hl7", "--to", `127.0.0.1:${port}`, "--one-frame"];
        const { status, stdout } = await hl7({ "b.hl7": text }, ...words);
        expect(status).toBe(0);
        expect(stdout).toMatch(/ {2}BHS\|.*\|B-7\n.*message 2 \(M-2\): AA /s);
      });
    }));
});
