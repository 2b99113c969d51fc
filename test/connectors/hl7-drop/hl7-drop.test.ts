import { Writable } from "node:stream";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { hl7FileFormat } from "../../../src/connectors/hl7-drop/hl7-drop.ts";
import type { IncomingMessage } from "../../../src/core/intake.ts";
import { hl7Message, withDropWorld } from "../drop-world.ts";

/** All batches of a file with that content. */
async function batchesOf(content: string | Buffer): Promise<(readonly IncomingMessage[])[]> {
  const file = await hl7FileFormat({ maxBytes: 64_000_000 }).examine(Buffer.from(content));
  const batches: (readonly IncomingMessage[])[] = [];
  for await (const batch of file.batches()) batches.push(batch);
  return batches;
}

describe("an HL7 file", () => {
  test("in which a header may be a line of pasted text is refused whole, unless that is the sender's way", async () => {
    const bytes = Buffer.from(
      `${hl7Message("C1")}NTE|1||pasted\n${hl7Message("C2").replaceAll("\r", "\n")}NTE|2\r`,
    );
    const examine = (mixedLineEnds?: "refuse" | "accept") =>
      hl7FileFormat({ maxBytes: 64_000_000, mixedLineEnds }).examine(bytes);
    for (const setting of [undefined, "refuse"] as const)
      expect((await examine(setting)).problems).toMatchObject([{ code: "HL7_LINE_ENDS_MIXED" }]);
    expect((await examine("accept")).problems).toEqual([]);
  });

  test("of many messages is committed five hundred at a time", async () => {
    const content = Array.from({ length: 1050 }, (_, i) => hl7Message(`C${i}`)).join("");
    const batches = await batchesOf(content);
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 50]);
    expect(batches.flat().map((message) => message.ordinal)).toEqual(
      Array.from({ length: 1050 }, (_, i) => i + 1),
    );
  });

  test("of large messages is committed four megabytes at a time", async () => {
    const large = hl7Message("C", "x".repeat(3 * 1024 * 1024));
    expect((await batchesOf(large + large)).map((batch) => batch.length)).toEqual([1, 1]);
  });

  test("with bytes that its character set does not have refuses that message only, and says where", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      const bad = Buffer.concat([Buffer.from(hl7Message("B").slice(0, -1)), Buffer.from([0xff, 0x0d])]);
      await world.drop("o.hl7", Buffer.concat([Buffer.from(hl7Message("A")), bad]));
      await world.settled();
      expect(world.intake.summary()[0]?.messages.map((message) => message.verdict)).toEqual([
        "accepted",
        "refused",
      ]);
      const report = JSON.parse(await world.read("error", "o.hl7.error.json"));
      expect(report.problems).toMatchObject([{ code: "HL7_CHARSET_BYTES", place: "message 2, line 6" }]);
    }));

  test("in UTF-8 where MSH-18 says otherwise is refused with one line, which counts in the file", async () => {
    const other = hl7Message("B", "Müller").replace(
      /(MSH[^\r]*)/,
      (msh) => `${msh.padEnd(1)}${"|".repeat(18 - msh.split("|").length)}8859/1`,
    );
    const [batch] = await batchesOf(hl7Message("A") + other);
    const content = batch?.[1]?.content;
    expect(content).toMatchObject({ problems: [{ code: "HL7_CHARSET_UTF8", place: "message 2, line 6" }] });
    expect(content?.kind === "unreadable" && content.problems[0]?.message).not.toContain("line");
  });

  test("is read in the character set that the site sets", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7({ charset: { override: "ISO-8859-1" } }));
      await world.drop("o.hl7", Buffer.from(hl7Message("A", "Röhrchen"), "latin1"));
      await world.settled();
      expect(world.intake.summary()[0]?.messages[0]?.verdict).toBe("accepted");
    }));

  test.each([
    ["empty", "", "HL7_FILE_EMPTY"],
    ["binary", Buffer.from([0x89, 0x50, 0, 1, 2, 0]), "HL7_FILE_BINARY"],
    ["text", "Dear lab,\nplease store this.\n", "HL7_NO_MSH"],
  ])("that is %s is refused whole", (name, content, code) =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.drop(`${name}.hl7`, content);
      await world.settled();
      const report = JSON.parse(await world.read("error", `${name}.hl7.error.json`));
      expect(report).toMatchObject({ result: "refused", problems: [{ code }] });
      expect(world.intake.summary()).toMatchObject([{ status: "refused", messages: [] }]);
    }),
  );
});

test("nothing of a message's content, nor a file's name, comes into the log or a report", () =>
  withDropWorld(async (world) => {
    const lines: string[] = [];
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    await world.start(world.hl7({}, { logger: pino({ level: "trace" }, sink) }));
    const canary = "CANARYNAME";
    await world.drop(`${canary}.hl7`, hl7Message("A", canary) + hl7Message("B", `${canary} REFUSE`));
    const bad = Buffer.concat([Buffer.from(hl7Message("C", canary)), Buffer.from([0xff, 0x0d])]);
    await world.drop("bad.hl7", bad);
    await world.settled();
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join("")).not.toContain(canary);
    expect(await world.read("error", "bad.hl7.error.txt")).not.toContain(canary);
  }));
