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
  it("sends the file as one frame and shows the answers of the batch that comes back", async () => {
    const listened = await withListen([], async (port, printed) => {
      const { status, stdout } = await sendWhole(`127.0.0.1:${port}`);
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^one frame with 2 messages: AA, AA after \d+ ms\n {2}MSH.*\n {2}MSA\|AA\|M-1\n {2}MSH.*\n {2}MSA\|AA\|M-2\n/,
      );
      expect(stdout).toMatch(/\n1 accepted, 0 refused, 0 without an answer\n$/);
      await eventually(() => printed().includes("message 2 (2 of 2 in a batch): OML^O33, answered AA\n"));
    });
    for (const secret of SECRETS) expect(listened.stdout).not.toContain(secret);
  });

  it("is refused where one message is, in one JSON document for programs", () =>
    withReceiver(
      (socket) => {
        const answers = ackText("AA", "M-1") + ackText("AE", "M-2", "ERR|||102|E\r");
        socket.write(framed(`BHS|^~\\&|C||L||||||C-1|B-1\r${answers}BTS|2\r`));
      },
      async (to, frames) => {
        const { status, stdout } = await sendWhole(to, "--json");
        expect(status).toBe(1);
        expect(JSON.parse(stdout)).toMatchObject({
          counts: { accepted: 0, refused: 1, unanswered: 0, unasked: 0, unsent: 0 },
          frames: [
            {
              controlIds: ["M-1", "M-2"],
              verdict: "refused",
              answers: [
                { code: "AA", controlId: "M-1" },
                { code: "AE", controlId: "M-2", condition: "102" },
              ],
              problem: null,
            },
          ],
        });
        expect(frames).toEqual([BATCH]);
      },
    ));

  it("takes single answers as well, in whatever order they come", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "M-2")) + framed(ackText("AA", "M-1"))),
      async (to) => {
        const { status, stdout } = await sendWhole(to);
        expect(status).toBe(0);
        expect(stdout).toContain("one frame with 2 messages: AA, AA after ");
      },
    ));

  it("takes an empty batch for one that reports no error, and an answer that names no message for all", async () => {
    await withReceiver(
      (socket) => socket.write(framed("BHS|^~\\&|C||L||||||C-1|B-1\rBTS|0\r")),
      async (to) => expect((await sendWhole(to)).stdout).toContain("messages: an empty batch after "),
    );
    await withReceiver(
      (socket) => socket.write(framed(ackText("AR", "B-1"))),
      async (to) => {
        const { status, stdout } = await sendWhole(to);
        expect([status, stdout]).toEqual([1, expect.stringContaining("messages: AR after ")]);
      },
    );
  });

  it("says which answers came when fewer come than it waits for", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "M-1"))),
      async (to) => {
        const { status, stdout } = await sendWhole(to, "--timeout", "1");
        expect(status).toBe(4);
        expect(stdout).toMatch(
          /^one frame with 2 messages: AA, then 127\.0\.0\.1:\d+: no acknowledgement in time \(MLLP_NO_ANSWER\)\n {2}\S.*\n {2}MSH.*\n {2}MSA\|AA\|M-1\n/,
        );
      },
    ));

  it("says that one refusal may be of the whole frame, when no more answers come", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AE", "M-1"))),
      async (to) => {
        const { stdout } = await sendWhole(to, "--timeout", "1");
        expect(stdout).toMatch(
          /MLLP_NO_ANSWER\)\n {2}A receiver that refuses a frame as a whole may answer it once/,
        );
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
          "one frame with 2 messages: sent; by MSH-15 and MSH-16 it wants no answer\n" +
          "0 accepted, 0 refused, 0 without an answer, 1 that want none\n",
      });
      await eventually(() => printed().includes("message 2 (2 of 2 in a batch): "));
    }).then(() => undefined));

  it("shows control ids harmless to a terminal", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "X\x1b[2J"))),
      async (to) => expect((await sendWhole(to)).stdout).toContain("MSA|AA|X?[2J\n"),
    ));

  it.each([
    ["a byte order mark", `\ufeff${BATCH}`],
    ["the blocks of the frame that it was captured in", `\v${BATCH}\x1c\r`],
    ["the end that files had of old", `${BATCH}\x1a`],
    ["blank lines", `\n\n${BATCH}\n\n`],
    ["a missing last line end", BATCH.slice(0, -1)],
    ["lines that end with LF", BATCH.replaceAll("\r", "\n")],
  ])("sends no %s along", (_, content) =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AA", "B-1"))),
      async (to, frames) => {
        await hl7({ "b.hl7": content }, "send", "@b.hl7", "--to", to, "--one-frame");
        expect(frames).toEqual([BATCH]);
      },
    ),
  );

  it("sends a wrong count and a broken message as they are, and says so", () =>
    withReceiver(
      (socket) => socket.write(framed(ackText("AR", "B-1"))),
      async (to, frames) => {
        const text = BATCH.replace("BTS|2", "BTS|9").replace("ORC|", "ORC?");
        const { stderr } = await hl7({ "b.hl7": text }, "send", "@b.hl7", "--to", to, "--one-frame");
        expect(stderr).toMatch(
          /HL7_BATCH_COUNT\); it is sent as it is\nmessage 1: .*; it is sent as it is\n/,
        );
        expect(frames).toEqual([text]);
      },
    ));

  it.each([
    ["several frames", `\v${hl7Text()}\x1c\r\v${hl7Text()}\x1c\r`, "leave out --one-frame"],
    ["UTF-16", Buffer.from(`\ufeff${hl7Text()}`, "utf16le"), "it is UTF-16"],
    ["a table", "order_number,operation\nA-1,STORE\n", "no MSH at all"],
    ["nothing", "", "found nothing"],
  ])("refuses a file that holds %s", async (_, content, words) => {
    const argv = ["send", "@b.hl7", "--to", "127.0.0.1:1", "--one-frame"];
    const { status, stderr } = await hl7({ "b.hl7": content }, ...argv);
    expect(status).toBeGreaterThan(0);
    expect(stderr).toContain(words);
  });
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
  const frameOf = (stdout: string) => {
    const [{ verdict, answers }] = JSON.parse(stdout).frames;
    return [verdict, answers.map(({ code }: { code: string }) => code)];
  };

  it.each([
    ["all", ["AA", "AE", "AA"]],
    ["errors", ["AE"]],
    ["none", ["AA", "AE", "AA"]],
  ] as const)("shows what became of the messages (batchResponse: %s)", (response, codes) =>
    withDaemon(response, async (send) => {
      const { status, stdout } = await send(batch());
      expect(status).toBe(1);
      expect(frameOf(stdout)).toEqual(["refused", codes]);
    }),
  );

  it("shows that a batch with a wrong count was refused as a whole", () =>
    withDaemon("all", async (send) => {
      const { status, stdout } = await send(batch(7));
      expect(status).toBe(1);
      expect(frameOf(stdout)).toEqual(["refused", ["AR"]]);
      const [{ text }] = JSON.parse(stdout).frames[0].answers;
      // Its words may name a patient for all that the sender of a message knows.
      expect(text).toMatch(/^ERR\|\|\|102.*HL7_BATCH_COUNT\|\|\|••••/m);
    }));
});

describe.runIf(machineHas("mllp_send"))("hl7 send --one-frame and python-hl7", () => {
  it("shows the one answer of a receiver that takes a frame for one message", () =>
    withPythonHl7(async ({ listen }) => {
      const { port } = await listen();
      const files = { "two.hl7": message("M-1") + message("M-2") };
      const words = ["send", "@two.hl7", "--to", `127.0.0.1:${port}`, "--one-frame", "--timeout", "1"];
      const { status, stdout } = await hl7(files, ...words);
      expect(status).toBe(4);
      expect(stdout).toMatch(/one frame with 2 messages: AA, then .*MSA\|AA\|M-1\n/s);
    }));

  it("sends a batch that it composed, as it is", () =>
    withPythonHl7(async ({ compose }) => {
      const text = await compose({
        batches: [{ controlId: "B-7", messages: [message("M-1"), message("M-2")] }],
      });
      await withListen([], async (port) => {
        const words = ["send", "@b.hl7", "--to", `127.0.0.1:${port}`, "--one-frame"];
        const { status, stdout } = await hl7({ "b.hl7": text }, ...words);
        expect(status).toBe(0);
        expect(stdout).toContain("one frame with 2 messages: AA, AA after ");
      });
    }));
});
