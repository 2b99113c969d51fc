import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { BatchOutline, IncomingMessage } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { createIntake } from "../../src/jobs/intake/intake.ts";
import { findInstanceCode } from "../../src/ledger/migrate.ts";
import { createMapper } from "../../src/mapping/inbound/mapper.ts";
import { facilityIdByCode, hl7Profile } from "../mapping/mapped.ts";
import { type EndFile, takeFile } from "../support/files.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { at } from "../support/places.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const BHS = "BHS|^~\\&|LIMS|NORTH|CRYO|STORE|||||B-1";
const FILE = { connector: "lims", fileName: "day.hl7", sha256: "ab".repeat(32), sizeBytes: 1 };
const TAKEN = { status: "taken", problems: [] } as const;

const message = (ordinal: number, text = omlO33({ number: `A-${ordinal}` })): IncomingMessage => ({
  ordinal,
  place: at(`message ${ordinal}`),
  isInBatch: true,
  raw: phi(Buffer.from(text)),
  content: { kind: "hl7", text: phi(text) },
});
const outline = (messages: number): BatchOutline => ({ batches: [{ header: BHS, messages }] });

/** An intake whose one connector answers batches, by all answers unless told otherwise, and what it wrote down for the lab. */
function withIntake(
  test: (
    take: (messages: readonly IncomingMessage[]) => Promise<EndFile>,
    told: () => Promise<{ deliveries: string[]; outcomes: string[] }>,
  ) => Promise<void>,
  response: "all" | "errors" = "all",
): Promise<void> {
  return withLedger(async ({ pool }) => {
    const profile = await hl7Profile();
    const mapper = createMapper(profile, { facilityIdByCode });
    const rules = {
      instanceCode: await findInstanceCode(pool),
      byConnector: new Map([["lims", { mapper, batches: { profile, response } }]]),
    };
    const intake = createIntake({
      pool,
      worker: { id: 1, isSure: true },
      clock: systemClock,
      logger: silent,
      rules: () => rules,
      onCommitted: () => undefined,
    });
    const take = async (messages: readonly IncomingMessage[]) =>
      (await takeFile(pool, intake, FILE, messages)).end;
    await test(take, async () => {
      const deliveries = await pool.query(
        "select convert_from(bytes, 'UTF8') as text from deliveries order by id",
      );
      const outcomes = await pool.query("select kind from outcomes order by id");
      return {
        deliveries: deliveries.rows.map(({ text }) => text),
        outcomes: outcomes.rows.map(({ kind }) => kind),
      };
    });
  });
}

describe("the response to a file's batches", () => {
  test("is written down when the file is closed and no sooner, and once however often that is repeated", () =>
    withIntake(async (take, told) => {
      const end = await take([message(1)]);
      expect(await told()).toEqual({ deliveries: [], outcomes: [] });
      await end({ end: TAKEN, batch: outline(1) });
      const first = await told();
      expect(first.deliveries).toHaveLength(1);
      await end({ end: TAKEN, batch: outline(1) });
      expect(await told()).toEqual(first);
    }));

  test("is written down once by two that close the file at the same time", () =>
    withIntake(async (take, told) => {
      const end = await take([message(1)]);
      await Promise.all([1, 2].map(() => end({ end: TAKEN, batch: outline(1) })));
      expect((await told()).deliveries).toHaveLength(1);
    }));

  test("has an answer to each of many messages, in their order", () =>
    withIntake(async (take, told) => {
      const messages = Array.from({ length: 401 }, (_, i) => message(i + 1));
      const end = await take(messages);
      await end({ end: TAKEN, batch: outline(401) });
      const [text = ""] = (await told()).deliveries;
      const answered = text.split("\r").filter((line) => line.startsWith("MSA"));
      expect(answered).toEqual(messages.map(({ ordinal }) => `MSA|AA|MSG-A-${ordinal}`));
      expect(text).toMatch(/\rBTS\|401\r$/);
    }));

  test("answers a message whose characters can't be read by its control id", () =>
    withIntake(async (take, told) => {
      const problem = {
        code: "HL7_CHARSET_BYTES",
        place: at("message 1"),
        message: "byte 9 is not utf-8",
      } as const;
      const unread = { ...message(1), content: { kind: "unreadable", problems: [problem] } } as const;
      const end = await take([unread]);
      await end({ end: TAKEN, batch: outline(1) });
      const [text] = (await told()).deliveries;
      expect(text).toContain("\rMSA|AE|MSG-A-1|message 1: byte 9 is not utf-8\r");
      // As it would be answered by itself.
      expect(text).toContain("|ORL^O34^ORL_O34|");
    }));

  test("answers a message without a header with AR, as one that is for somebody else", () =>
    withIntake(async (take, told) => {
      const end = await take([message(1, "PID|1||S-1\rORC|NW|A-1\r")]);
      await end({ end: TAKEN, batch: outline(1) });
      expect((await told()).deliveries[0]).toContain("\rMSA|AR||message 1: ");
    }));

  test("tells a message that waits as one that is on hold", () =>
    withIntake(async (take, told) => {
      const end = await take([message(1, omlO33({ number: "A-1", facility: "WEST" }))]);
      await end({ end: TAKEN, batch: outline(1) });
      expect((await told()).deliveries[0]).toContain("\rORC|OH|A-1^LIMS|||HD\r");
    }));

  test.each([
    ["changed meanwhile, and is read again", "taken", "FILE_CHANGED"],
    ["could not be read further", "refused", "FILE_UNREADABLE"],
  ] as const)("says so where only a part was taken of a file that %s", (_, status, code) =>
    withIntake(async (take, told) => {
      const end = await take([message(1)]);
      const problems = [{ code, place: at("file"), message: "the rest is missing" }];
      await end({ end: { status, problems }, batch: outline(3) });
      const [text = ""] = (await told()).deliveries;
      expect(text.split("\r").filter((line) => /^(?:MSA|BTS)/.test(line))).toEqual([
        "MSA|AR||file: the rest is missing",
        "BTS|1",
      ]);
    }, "errors"),
  );

  test("leaves messages that stand in no batch to single answers", () =>
    withIntake(async (take, told) => {
      const end = await take([{ ...message(1), isInBatch: undefined }]);
      await end({ end: TAKEN });
      expect(await told()).toEqual({ deliveries: [], outcomes: ["acknowledged"] });
    }));
});
