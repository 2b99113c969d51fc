import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { MllpSender, type MllpSendSettings } from "../../../src/connectors/mllp/sender.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { FakeClock } from "../../service/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { type PythonServer, type PythonStep, withPythonHl7 } from "../../support/python-hl7/python-hl7.ts";

interface Bench {
  readonly lab: PythonServer;
  readonly sender: MllpSender;
  /** Lines of our log. */
  readonly logged: readonly object[];
  /** Sends the message with this control id, and says how that ended: `taken`, or the code of the failure. */
  send(id: string): Promise<string>;
}

/** Our sender, and python-hl7's server as the lab system that it sends to. */
function withLab(
  plan: readonly PythonStep[],
  test: (bench: Bench) => Promise<void>,
  settings: Partial<MllpSendSettings> = {},
  clock: Clock = systemClock,
): Promise<void> {
  return withPythonHl7(async ({ listen }) => {
    const lab = await listen(plan);
    const logged: object[] = [];
    const sender = new MllpSender(
      { host: "127.0.0.1", port: lab.port, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000, ...settings },
      {
        clock,
        logger: pino({ level: "warn" }, { write: (line) => logged.push(JSON.parse(line)) }),
      },
    );
    const send = (id: string) =>
      sender.send(message(id), id).then(
        () => "taken",
        (failure: { code: string }) => failure.code,
      );
    try {
      await test({ lab, sender, logged, send });
    } finally {
      await sender.close();
    }
  });
}

const message = (id: string) =>
  Buffer.from(
    `MSH|^~\\&|CRYO|STORE|LIMS|LAB|20261121||ORU^R01^ORU_R01|${id}|P|2.5.1||||||UNICODE UTF-8\rPID|1||S-1||Müller\\T\\Šimić^Ζωή\r`,
  );
/** As python-hl7 writes a message, which is how it came. */
const textOf = (id: string) => message(id).toString();
const textsOf = async (lab: PythonServer) => (await lab.log()).heard.map(({ text }) => text);
const connectionsOf = async (lab: PythonServer) =>
  (await lab.log()).heard.map(({ connection }) => connection);
const hasHeard = (lab: PythonServer, count: number) =>
  eventually(async () => (await lab.log()).heard.length === count);
const hasClosed = (lab: PythonServer, connection: number) =>
  eventually(async () => (await lab.log()).closed.includes(connection));

describe.runIf(machineHas("mllp_send"))("our sender and a lab system built on python-hl7", () => {
  it("understand each other: messages go over one connection, and come to the byte", () =>
    withLab([], async ({ lab, send }) => {
      expect([await send("1"), await send("2"), await send("3")]).toEqual(["taken", "taken", "taken"]);
      expect(await textsOf(lab)).toEqual(["1", "2", "3"].map(textOf));
      expect(await connectionsOf(lab)).toEqual([1, 1, 1]);
    }));

  it("agree on a message of a megabyte", () =>
    withLab([], async ({ lab, sender }) => {
      const bytes = Buffer.concat([message("1"), Buffer.from(`NTE|1|L|${"ü".repeat(500_000)}\r`)]);
      await sender.send(bytes, "1");
      expect(Buffer.from((await textsOf(lab))[0] ?? "").equals(bytes)).toBe(true);
    }));

  it.each([
    ["AE", "MLLP_RESULT_ERROR"],
    ["CE", "MLLP_RESULT_ERROR"],
    ["AR", "MLLP_RESULT_REFUSED"],
    ["CR", "MLLP_RESULT_REFUSED"],
  ])("know %s from a message that was taken, and go on over the same connection", (code, failure) =>
    withLab([{ codes: [code], condition: "207" }], async ({ lab, sender, send }) => {
      await expect(sender.send(message("1"), "1")).rejects.toMatchObject({
        code: failure,
        message: expect.stringMatching(new RegExp(`answered ${code} \\(207\\)$`)),
      });
      expect(await send("2")).toBe("taken");
      expect(await connectionsOf(lab)).toEqual([1, 1]);
    }),
  );

  it("wait for an answer that takes its time, without sending anything in the meantime", () =>
    withLab([{ codes: [], heldCodes: ["AA"] }], async ({ lab, send }) => {
      const sent = [send("1"), send("2")];
      await hasHeard(lab, 1);
      await lab.release("forwards");
      expect(await Promise.all(sent)).toEqual(["taken", "taken"]);
      expect(await textsOf(lab)).toEqual(["1", "2"].map(textOf));
    }));

  it("part over an answer that comes too late, which then is not taken for that of another message", () => {
    const clock = new FakeClock();
    return withLab(
      [{ codes: [], heldCodes: ["AA"] }, { codes: ["AE"] }],
      async ({ lab, send }) => {
        const first = send("1");
        await hasHeard(lab, 1);
        await clock.advance(500);
        expect(await first).toBe("MLLP_NO_ANSWER");
        await hasClosed(lab, 1);
        await lab.release("forwards");
        expect(await send("2")).toBe("MLLP_RESULT_ERROR");
        expect(await send("1")).toBe("taken");
        expect(await textsOf(lab)).toEqual(["1", "2", "1"].map(textOf));
        expect(await connectionsOf(lab)).toEqual([1, 2, 2]);
      },
      { answerTimeoutMs: 500 },
      clock,
    );
  });

  it("meet again over a new connection when the lab system closes between two messages", () =>
    withLab([{ thenClose: true }], async ({ lab, send }) => {
      expect(await send("1")).toBe("taken");
      await hasClosed(lab, 1);
      // Whether the end of the connection is known yet or not, what was not acknowledged is sent again.
      const first = await send("2");
      expect(["taken", "MLLP_NO_ANSWER"]).toContain(first);
      if (first !== "taken") expect(await send("2")).toBe("taken");
      expect(await textsOf(lab)).toEqual(["1", "2"].map(textOf));
      expect(await connectionsOf(lab)).toEqual([1, 2]);
    }));

  it("don't take a connection that was closed without an answer for a message that was taken", () =>
    withLab([{ codes: [], thenClose: true }], async ({ lab, send }) => {
      expect(await send("1")).toBe("MLLP_NO_ANSWER");
      expect(await send("1")).toBe("taken");
      expect(await textsOf(lab)).toEqual(["1", "1"].map(textOf));
    }));

  it.each(["forwards", "backwards"] as const)(
    "distinguish application acknowledgements that come after the next messages, %s",
    (order) => {
      const inTwoSteps = { codes: ["CA"], heldCodes: ["AA"] };
      const plan = [inTwoSteps, inTwoSteps, { codes: [], heldCodes: ["AE"] }];
      return withLab(plan, async ({ lab, send }) => {
        expect([await send("1"), await send("2")]).toEqual(["taken", "taken"]);
        const third = send("3");
        await hasHeard(lab, 3);
        await lab.release(order);
        // Its own answer, and none of the others', which say AA.
        expect(await third).toBe("MLLP_RESULT_ERROR");
        expect(await send("4")).toBe("taken");
        expect(await connectionsOf(lab)).toEqual([1, 1, 1, 1]);
      });
    },
  );

  it("keep it in the log when an application acknowledgement takes back what was accepted", () =>
    withLab([{ codes: ["CA"], heldCodes: ["AE"], condition: "207" }], async ({ lab, logged, send }) => {
      expect(await send("1")).toBe("taken");
      await lab.release("forwards");
      await eventually(() => logged.length === 1);
      expect(logged).toEqual([
        expect.objectContaining({ code: "AE", condition: "207", messageControlId: "1" }),
      ]);
      expect(await send("2")).toBe("taken");
      expect(await connectionsOf(lab)).toEqual([1, 1]);
    }));
});
