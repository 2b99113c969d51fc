import { createServer, type Server, type Socket } from "node:net";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { MllpSender, type MllpSendSettings } from "../../../src/connectors/mllp/sender.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { FakeClock } from "../../service/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { framed } from "./with-listener.ts";

/** A lab system that answers as a test says. */
interface LabEnd {
  readonly sender: MllpSender;
  /** Frames that came, as Latin-1 text, blocks included. */
  readonly heard: readonly string[];
  readonly connections: readonly Socket[];
  /** What the sender logged, from warnings on. */
  readonly log: readonly string[];
}

type Answer = (frame: string, socket: Socket, nth: number) => void;

async function withLab(
  answer: Answer,
  test: (lab: LabEnd) => Promise<void>,
  settings: Partial<MllpSendSettings> = {},
  clock: Clock = systemClock,
): Promise<void> {
  const heard: string[] = [];
  const connections: Socket[] = [];
  const log: string[] = [];
  const server: Server = createServer((socket) => {
    connections.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      heard.push(chunk.toString("latin1"));
      answer(chunk.toString("latin1"), socket, heard.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const sender = new MllpSender(
    { host: "127.0.0.1", port, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000, ...settings },
    { clock, logger: pino({ level: "warn" }, { write: (line) => void log.push(line) }) },
  );
  try {
    await test({ sender, heard, connections, log });
  } finally {
    await sender.close();
    for (const socket of connections) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

const message = (id: string) => Buffer.from(`MSH|^~\\&|A|B|C|D|20260101||ORU^R01|${id}|P|2.5\r`);
const ack = (code: string, id: string, more = "") =>
  framed(`MSH|^~\\&|C|D|A|B|20260101||ACK|X|P|2.5\rMSA|${code}|${id}\r${more}`);
const idOf = (frame: string) => frame.split("|")[9] ?? "";
const accepts: Answer = (frame, socket) => socket.write(ack("AA", idOf(frame)), "latin1");

it("waits for no answer to an acknowledgement, and takes one that comes nevertheless", () => {
  // Two frames may come in one chunk.
  const acceptsAll: Answer = (frames, socket) => {
    for (const frame of frames.split("\v").slice(1)) socket.write(ack("AA", idOf(frame)), "latin1");
  };
  return withLab(acceptsAll, async ({ sender, heard, connections, log }) => {
    await sender.post(message("A-1"), "A-1");
    await sender.send(message("R-1"), "R-1");
    expect(heard.join("")).toMatch(/A-1.*R-1/s);
    expect(connections).toHaveLength(1);
    expect(log).toEqual([]);
  });
});

it.each([
  ["without its carriage return", (frame: string) => frame.slice(0, -1)],
  ["with a line feed in place of its carriage return", (frame: string) => `${frame.slice(0, -1)}\n`],
])("takes an answer whose end block came %s", (_, spoil) =>
  withLab(
    (frame, socket) => socket.write(spoil(ack("AA", idOf(frame))), "latin1"),
    async ({ sender, heard }) => {
      await sender.send(message("1"), "1");
      await sender.send(message("2"), "2");
      expect(heard.map(idOf)).toEqual(["1", "2"]);
    },
  ),
);

it("sends nothing once another daemon sends, and goes on over a new connection after it hung up", () =>
  withLab(accepts, async ({ sender, heard, connections }) => {
    const beforeSend = () => {
      throw new Error("not ours");
    };
    await expect(sender.send(message("1"), "1", { beforeSend })).rejects.toThrow("not ours");
    await sender.send(message("2"), "2");
    await sender.hangUp();
    await eventually(() => connections[0]?.destroyed);
    await sender.send(message("3"), "3");
    expect(heard.map(idOf)).toEqual(["2", "3"]);
    expect(connections).toHaveLength(2);
  }));

it("hears over a connection that it hung up that a result is taken back, while it sends over the next one", () => {
  const [takenBack, refuses] = [[] as string[], Promise.withResolvers<void>()];
  return withLab(
    (frame, socket, nth) => {
      socket.allowHalfOpen = true;
      socket.write(ack(nth === 1 ? "CA" : "AA", idOf(frame)), "latin1");
      if (nth === 1) void refuses.promise.then(() => socket.end(ack("AR", "1"), "latin1"));
    },
    async ({ sender, connections }) => {
      await sender.send(message("1"), "1", { onTakenBack: (answer) => takenBack.push(answer) });
      await sender.hangUp();
      await sender.send(message("2"), "2");
      refuses.resolve();
      await eventually(() => takenBack.length > 0, { what: "the refusal" });
      expect(takenBack).toEqual([expect.stringContaining("AR")]);
      await eventually(() => connections[0]?.destroyed, { what: "the end of the first connection" });
      await sender.send(message("3"), "3");
      expect(connections).toHaveLength(2);
    },
  );
});

it("closes a connection that it hung up when the lab system leaves it open for a minute", () => {
  const clock = new FakeClock();
  return withLab(
    (frame, socket) => {
      socket.allowHalfOpen = true;
      accepts(frame, socket, 1);
    },
    async ({ sender, connections }) => {
      await sender.send(message("1"), "1");
      await sender.hangUp();
      const [first] = connections;
      expect(first?.destroyed).toBe(false);
      await clock.advance(60_000);
      // What it still says is met by a reset.
      await eventually(() => {
        first?.write("?");
        return first?.destroyed;
      });
    },
    {},
    clock,
  );
});

describe("an MLLP sender", () => {
  it("takes a message for delivered once its own control id is acknowledged, over one connection for all", () =>
    withLab(accepts, async ({ sender, heard, connections }) => {
      await sender.send(message("1"), "1");
      await sender.send(message("2"), "2");
      expect(heard).toEqual([framed(message("1").toString()), framed(message("2").toString())]);
      expect(connections).toHaveLength(1);
    }));

  it("sends one message at a time", () =>
    withLab(accepts, async ({ sender, heard }) => {
      await Promise.all(["1", "2", "3"].map((id) => sender.send(message(id), id)));
      expect(heard.map(idOf)).toEqual(["1", "2", "3"]);
    }));

  it.each([
    ["AE", "MLLP_RESULT_ERROR"],
    ["CE", "MLLP_RESULT_ERROR"],
    ["AR", "MLLP_RESULT_REFUSED"],
    ["CR", "MLLP_RESULT_REFUSED"],
  ])("reports %s with its error condition and none of its words", (code, failure) =>
    withLab(
      (frame, socket) => socket.write(ack(code, idOf(frame), "ERR||PID^1^5|204^Unknown key|E||||Jane Roe\r")),
      async ({ sender }) => {
        const sent = sender.send(message("1"), "1");
        await expect(sent).rejects.toMatchObject({
          code: failure,
          message: expect.stringMatching(
            new RegExp(`^127\\.0\\.0\\.1:\\d+: the lab system answered ${code} \\(204\\)$`),
          ),
        });
      },
    ),
  );

  it.each(["CA", "AA"])("is content with %s", (code) =>
    withLab(
      (frame, socket) => socket.write(ack(code, idOf(frame))),
      ({ sender }) => sender.send(message("1"), "1"),
    ),
  );

  it("does not take the later application acknowledgement of a message for that of the next one", () =>
    withLab(
      (frame, socket, nth) => {
        if (nth === 1) socket.write(ack("CA", "1"));
        else socket.write(ack("AA", "1") + ack("CA", idOf(frame)));
      },
      async ({ sender, connections }) => {
        await sender.send(message("1"), "1");
        await sender.send(message("2"), "2");
        expect(connections).toHaveLength(1);
      },
    ));

  it("closes the connection when another message is acknowledged, and sends over a new one", () =>
    withLab(
      (frame, socket, nth) => socket.write(ack("AA", nth === 1 ? "other" : idOf(frame))),
      async ({ sender, connections }) => {
        await expect(sender.send(message("1"), "1")).rejects.toMatchObject({ code: "MLLP_NO_ANSWER" });
        await sender.send(message("1"), "1");
        expect(connections).toHaveLength(2);
      },
    ));

  it("closes the connection when no acknowledgement comes in time, so that a late one meets nothing", () => {
    const clock = new FakeClock();
    return withLab(
      (frame, socket, nth) => {
        if (nth > 1) accepts(frame, socket, nth);
      },
      async ({ sender, heard, connections }) => {
        const sent = sender.send(message("1"), "1").catch((failure: { code: string }) => failure.code);
        await eventually(() => heard.length === 1);
        await clock.advance(50);
        expect(await sent).toBe("MLLP_NO_ANSWER");
        await eventually(() => connections[0]?.readableEnded);
        await sender.send(message("1"), "1");
      },
      { answerTimeoutMs: 50 },
      clock,
    );
  });

  it("fails when the lab system closes before it acknowledged, and connects again", () =>
    withLab(
      (frame, socket, nth) => (nth === 1 ? socket.destroy() : accepts(frame, socket, nth)),
      async ({ sender, connections }) => {
        await expect(sender.send(message("1"), "1")).rejects.toMatchObject({ code: "MLLP_NO_ANSWER" });
        await sender.send(message("1"), "1");
        expect(connections).toHaveLength(2);
      },
    ));

  it("goes on with a lab system that closes after each acknowledgement", () =>
    withLab(
      (frame, socket) => socket.end(ack("AA", idOf(frame))),
      async ({ sender, heard }) => {
        for (const id of ["1", "2", "3", "4", "5"]) await sender.send(message(id), id);
        // One that met the close may have come twice, and is the same each time.
        expect([...new Set(heard)].map(idOf)).toEqual(["1", "2", "3", "4", "5"]);
      },
    ));

  it.each([
    ["once more, and no oftener, when a connection that served before is closed in silence", 0, ["2", "2"]],
    ["no more at once when it is closed within an answer", 20, ["2"]],
  ])("sends a message %s", (_, length, tries) =>
    withLab(
      (frame, socket, nth) => {
        const answer = ack("AA", idOf(frame));
        if (nth === 1) socket.write(answer);
        else socket.end(answer.slice(0, length));
      },
      async ({ sender, heard }) => {
        await sender.send(message("1"), "1");
        await expect(sender.send(message("2"), "2")).rejects.toMatchObject({ code: "MLLP_NO_ANSWER" });
        expect(heard.slice(1).map(idOf)).toEqual(tries);
      },
    ),
  );

  it.each(["AE", "AR"])(
    "warns of %s in the same chunk after CA, where it comes too late to be sent again",
    (code) =>
      withLab(
        (frame, socket) => socket.write(ack("CA", idOf(frame)) + ack(code, idOf(frame))),
        async ({ sender, log }) => {
          await sender.send(message("1"), "1");
          await eventually(() => log.some((line) => line.includes('"messageControlId":"1"')));
          expect(log.join("")).toContain("that it had acknowledged before");
        },
      ),
  );

  it.each([
    ["blanks around code and id", "MSH|^~\\&|C|D|A|B\rMSA| AA | 1 \r"],
    ["a code in small letters", "MSH|^~\\&|C|D|A|B\rMSA|aa|1\r"],
    ["a byte order mark before MSH", "\xef\xbb\xbfMSH|^~\\&|C|D|A|B\rMSA|AA|1\r"],
  ])("understands an acknowledgement with %s", (_, text) =>
    withLab(
      (_frame, socket) => socket.write(framed(text), "latin1"),
      ({ sender }) => sender.send(message("1"), "1"),
    ),
  );

  it("ignores what is no acknowledgement", () =>
    withLab(
      (frame, socket) =>
        socket.write(framed("hello") + framed(message("9").toString()) + ack("AA", idOf(frame))),
      ({ sender }) => sender.send(message("1"), "1"),
    ));

  it("reads an acknowledgement that comes byte by byte", () =>
    withLab(
      (frame, socket) => {
        for (const byte of Buffer.from(ack("AA", idOf(frame)))) socket.write(Buffer.from([byte]));
      },
      ({ sender }) => sender.send(message("1"), "1"),
    ));

  it("reads an acknowledgement whose error text is broken into lines", () =>
    withLab(
      (frame, socket) =>
        socket.write(
          framed(
            `MSH|^~\\&|C|D|A|B|20260101||ACK|X|P|2.5\rMSA|AR|${idOf(frame)}|can't file\nat line 3\r\r?\r`,
          ),
        ),
      ({ sender }) =>
        expect(sender.send(message("1"), "1")).rejects.toMatchObject({ code: "MLLP_RESULT_REFUSED" }),
    ));

  it.each([
    ["half an acknowledgement and the end", (id: string) => ack("AA", id).slice(0, -1)],
    ["an acknowledgement without its control id", () => ack("AA", "")],
    ["an acknowledgement of an id that only begins alike", (id: string) => ack("AA", `${id}0`)],
  ])("takes nothing for delivered by %s", (_, answer) =>
    withLab(
      (frame, socket, nth) => {
        if (nth > 1) accepts(frame, socket, nth);
        else socket.end(answer(idOf(frame)), "latin1");
      },
      async ({ sender, heard }) => {
        await expect(sender.send(message("1"), "1")).rejects.toMatchObject({ code: "MLLP_NO_ANSWER" });
        await sender.send(message("1"), "1");
        expect(heard[1]).toBe(heard[0]);
      },
    ),
  );

  it("sends nothing over a connection that stands only after it was closed", () =>
    withLab(accepts, async ({ sender, heard }) => {
      const sent = Promise.allSettled([sender.send(message("1"), "1")]);
      await sender.close();
      expect(await sent).toMatchObject([{ status: "rejected", reason: { code: "MLLP_UNREACHABLE" } }]);
      expect(heard).toEqual([]);
    }));

  it("goes on after a message that no frame can hold", () =>
    withLab(accepts, async ({ sender }) => {
      await expect(sender.send(Buffer.from("a\x1cb"), "1")).rejects.toBeInstanceOf(RangeError);
      await sender.send(message("2"), "2");
    }));

  it("says why it can't connect", async () => {
    const sender = new MllpSender(
      { host: "127.0.0.1", port: 1, connectTimeoutMs: 1_000, answerTimeoutMs: 1_000 },
      { clock: systemClock, logger: pino({ level: "silent" }) },
    );
    await expect(sender.send(message("1"), "1")).rejects.toMatchObject({
      code: "MLLP_UNREACHABLE",
      message: "127.0.0.1:1: ECONNREFUSED: nothing listens there",
    });
    await sender.close();
  });

  it("ends what waits when it is closed, and sends nothing afterwards", () =>
    withLab(
      () => undefined,
      async ({ sender, heard }) => {
        const waiting = sender.send(message("1"), "1");
        const after = sender.send(message("2"), "2");
        const ends = Promise.allSettled([waiting, after]);
        await eventually(() => heard.length === 1);
        await sender.close();
        expect((await ends).map((end) => end.status === "rejected" && end.reason.code)).toEqual([
          "MLLP_NO_ANSWER",
          "MLLP_UNREACHABLE",
        ]);
        expect(heard).toHaveLength(1);
      },
    ));

  it("stops connecting when it is closed", () =>
    withLab(
      () => undefined,
      async ({ sender, heard }) => {
        const sent = sender.send(message("1"), "1").catch((failure: { code: string }) => failure.code);
        await eventually(() => heard.length === 1);
        await sender.close();
        expect(await sent).toBe("MLLP_UNREACHABLE");
      },
      { tls: {}, connectTimeoutMs: 600_000 },
    ));
});
