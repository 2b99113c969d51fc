import { connect } from "node:net";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createMllp } from "../../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { IncomingMessage, Intake } from "../../../src/core/intake.ts";
import { eventually } from "../../support/eventually.ts";
import { framed, LISTEN } from "./with-listener.ts";

/** What a connector hands over of a frame, where it takes three messages in one. */
async function handedOver(frame: string): Promise<readonly IncomingMessage[]> {
  const handed: IncomingMessage[][] = [];
  const never = () => Promise.reject(new Error("only messages are taken"));
  const intake: Intake = {
    openFile: never,
    settleFile: never,
    inspect: () => [],
    accept: async (_source, messages) => {
      handed.push([...messages]);
      return [];
    },
    answerBatch: () => [],
  };
  const results = {
    put: never,
    check: async () => [],
    prepare: async () => undefined,
    open: async () => undefined,
  };
  const connector = createMllp(
    { name: "lims", listen: { ...LISTEN, maxMessages: 3 }, results },
    { clock: systemClock, logger: pino({ level: "silent" }), intake },
  );
  await connector.start();
  const socket = connect({ host: "127.0.0.1", port: connector.port ?? 0 });
  try {
    socket.write(framed(frame));
    await eventually(() => handed.length > 0);
  } finally {
    socket.destroy();
    await connector.stop();
  }
  expect(handed).toHaveLength(1);
  return handed.flat();
}

const MESSAGE = "MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||ADT^A28|M1|P|2.5\rPID|1\r";
const BATCH = "BHS|^~\\&|LIMS\rBTS|0\r";

describe("a frame", () => {
  test.each([
    ["messages", MESSAGE.repeat(4), "line 7"],
    ["empty headers", "MSH\r".repeat(200_000), "line 4"],
    ["batches", BATCH.repeat(4), "line 7"],
    ["files", "FHS|^~\\&|LIMS\r".repeat(4), "line 4"],
  ])("with more %s than are taken in one is refused whole, in words", async (_, frame, place) => {
    const messages = await handedOver(frame);
    expect(messages).toHaveLength(1);
    expect(messages[0]?.raw.reveal().toString("latin1")).toBe(frame);
    expect(messages[0]?.content).toMatchObject({
      kind: "unreadable",
      problems: [{ code: "HL7_TOO_MANY_MESSAGES", place, message: expect.stringContaining("more than 3") }],
    });
  });

  test.each([
    ["messages", MESSAGE.repeat(3)],
    ["messages in batches", `BHS|^~\\&|LIMS\r${MESSAGE}BTS|1\r`.repeat(3)],
  ])("with as many %s as are taken in one is taken apart", async (_, frame) => {
    const messages = await handedOver(frame);
    expect(messages.map(({ content }) => content.kind)).toEqual(["hl7", "hl7", "hl7"]);
  });
});
