import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toRows } from "../../../src/ledger/arrival-rows.ts";
import { decodeRecord, encodeRecord, findRecords } from "../../../src/ledger/journal/record.ts";
import { arrivals } from "../../support/arrivals.ts";
import { anArrival } from "../../support/journals.ts";

const MARK = Buffer.from("9f0c3d2e81b64a57c0ffee1234567890", "hex");
const AT = Date.UTC(2026, 10, 21, 12);

const recordsOf = (groups: readonly ReturnType<typeof anArrival>[][]) =>
  groups.map((group) => encodeRecord(MARK, group, AT));
const found = (bytes: Buffer) => [...findRecords(MARK, bytes)];
const bytesFound = (bytes: Buffer) => found(bytes).map(({ record }) => record);
const streams = fc.array(arrivals({ max: 3 }), { minLength: 1, maxLength: 4 }).map(recordsOf);

/** Three records of known bytes. */
const three = () =>
  recordsOf([
    [anArrival(1), anArrival(2, { reply: undefined })],
    [anArrival(3, { controlId: 'a"\n\ud800', reply: "" })],
    [anArrival(7, { raw: "" })],
  ]);

describe("a record", () => {
  test("gives the messages that were put into it, whatever their bytes and texts", () => {
    fc.assert(
      fc.property(arrivals(), fc.uint8Array({ minLength: 16, maxLength: 16 }), (all, mark) => {
        const record = encodeRecord(Buffer.from(mark), all, AT);
        expect(decodeRecord(Buffer.from(mark), record)).toEqual(toRows(all, AT));
      }),
    );
  });

  test("tells a message that isn't answered from one with an empty answer", () => {
    const all = [anArrival(1, { reply: undefined }), anArrival(2, { reply: "" })];
    expect(decodeRecord(MARK, encodeRecord(MARK, all, AT)).replyLengths).toEqual([-1, 0]);
  });

  test("keeps half of a character, quotes and line breaks as they are", () => {
    const controlId = 'A\ud800"\r\n\\\u2028\0';
    const { controlIds } = decodeRecord(MARK, encodeRecord(MARK, [anArrival(1, { controlId })], AT));
    expect(controlIds).toEqual([controlId]);
  });
});

describe("records one behind the other", () => {
  test("are found as they were written, wherever the first begins", () => {
    fc.assert(
      fc.property(streams, fc.nat({ max: 100 }), (records, before) => {
        const all = found(Buffer.concat([Buffer.alloc(before), ...records, Buffer.alloc(100)]));
        expect(all).toEqual(records.map((record) => ({ record, isBehindDamage: false })));
      }),
    );
  });

  test("are found without damage when zeros that were made ahead stand between them", () => {
    const [one, two] = three() as [Buffer, Buffer];
    expect(found(Buffer.concat([one, Buffer.alloc(5_000), two]))).toEqual([
      { record: one, isBehindDamage: false },
      { record: two, isBehindDamage: false },
    ]);
  });

  test("are found up to a cut at any byte, and no part of the one that it goes through", () => {
    fc.assert(
      fc.property(streams, (records) => {
        const whole = Buffer.concat(records);
        const ends = records.map((_, n) => Buffer.concat(records.slice(0, n + 1)).length);
        for (let cut = 0; cut <= whole.length; cut += 1) {
          const before = records.slice(0, ends.filter((end) => end <= cut).length);
          const all = found(whole.subarray(0, cut));
          expect(all).toEqual(before.map((record) => ({ record, isBehindDamage: false })));
        }
      }),
      { numRuns: 10 },
    );
  });

  test("are found up to a write that was cut off at any byte in a file of zeros", () => {
    const records = three();
    const whole = Buffer.concat(records);
    const starts = records.map((_, n) => Buffer.concat(records.slice(0, n)).length);
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const file = Buffer.concat([whole.subarray(0, cut), Buffer.alloc(whole.length - cut + 50)]);
      // What was cut off may have been zeros: then nothing is missing.
      const left = records.filter((record, n) => file.indexOf(record, starts[n]) === starts[n]);
      expect(bytesFound(file)).toEqual(left);
    }
  });

  test("are never other than written when any byte is changed: the damaged one is missing, and the next says so", () => {
    const records = three();
    const whole = Buffer.concat(records);
    const owner = records.flatMap((record, n) => Array.from(record, () => n));
    for (let at = 0; at < whole.length; at += 1) {
      for (const change of [0x01, 0x80, 0xff, whole[at] ?? 0].filter((bits) => bits !== 0)) {
        const damaged = Buffer.from(whole);
        damaged[at] = (damaged[at] ?? 0) ^ change;
        const expected = records.flatMap((record, n) =>
          n === owner[at] ? [] : [{ record, isBehindDamage: n - 1 === owner[at] }],
        );
        expect(found(damaged), `byte ${at} ^ ${change}`).toEqual(expected);
      }
    }
  });

  test("are never other than written when a stretch of bytes is overwritten", () => {
    fc.assert(
      fc.property(
        streams,
        fc.nat(),
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        (records, nat, noise) => {
          const damaged = Buffer.concat(records);
          const at = nat % damaged.length;
          damaged.set(noise.subarray(0, damaged.length - at), at);
          for (const record of bytesFound(damaged))
            expect(records.some((each) => each.equals(record))).toBe(true);
        },
      ),
    );
  });
});

describe("a message that holds what looks like a record", () => {
  const disguises: [string, Buffer][] = [
    ["with another file's mark", encodeRecord(randomBytes(16), [anArrival(9)], AT)],
    ["with a mark of zeros", encodeRecord(Buffer.alloc(16), [anArrival(9)], AT)],
    ["with all of the mark but its last byte", Buffer.from(MARK).fill(0, 15)],
    ["of zeros", Buffer.alloc(300)],
  ];

  test.each(disguises)("is never taken for one: %s", (_, raw) => {
    const records = recordsOf([[anArrival(1, { raw, reply: raw })], [anArrival(2)]]);
    expect(bytesFound(Buffer.concat(records))).toEqual(records);
  });

  test.each(disguises)("is never taken for one when the record around it is damaged: %s", (_, raw) => {
    const [one, two] = recordsOf([[anArrival(1, { raw, reply: raw })], [anArrival(2)]]) as [Buffer, Buffer];
    one[40] = (one[40] ?? 0) ^ 1;
    expect(found(Buffer.concat([one, two]))).toEqual([{ record: two, isBehindDamage: true }]);
  });
});
