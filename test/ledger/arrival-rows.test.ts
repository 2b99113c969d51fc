import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import {
  type Arrival,
  digestsOf,
  endsOf,
  joinRows,
  rawOf,
  splitRows,
  toRows,
  withoutTexts,
} from "../../src/ledger/arrival-rows.ts";
import { arrivals } from "../support/arrivals.ts";
import { anArrival } from "../support/journals.ts";

const AT = Date.UTC(2026, 10, 21, 12);

/** What each arrival says, taken from it without any code of the ledger's. */
const said = ({ messageId, record, reply, isTold }: Arrival) => ({
  messageId,
  controlId: record.messageControlId ?? null,
  messageType: record.messageType ?? null,
  sender: record.sender ?? null,
  peer: record.replyTo?.peer ?? null,
  raw: record.message.raw.reveal(),
  reply,
  isTold,
});

describe("the rows of arrived messages", () => {
  test("fall apart into those of each message", () => {
    fc.assert(
      fc.property(arrivals(), (all) => {
        const parts = splitRows(toRows(all, AT));
        const read = parts.map((part) => ({
          messageId: part.messageIds[0],
          controlId: part.controlIds[0],
          messageType: part.messageTypes[0],
          sender: part.senders[0],
          peer: part.peers[0],
          raw: part.raws,
          reply: part.replyLengths[0] === -1 ? undefined : part.replies,
          isTold: part.isTold[0],
        }));
        expect(read).toEqual(all.map(said));
        expect(parts.flatMap(({ receivedAt }) => receivedAt)).toEqual(all.map(() => AT));
      }),
    );
  });

  test("are the same joined again, however they were cut", () => {
    fc.assert(
      fc.property(arrivals(), fc.nat(), (all, somewhere) => {
        const whole = toRows(all, AT);
        expect(joinRows(splitRows(whole))).toEqual(whole);
        const cut = somewhere % (all.length + 1);
        expect(joinRows([toRows(all.slice(0, cut), AT), toRows(all.slice(cut), AT)])).toEqual(whole);
      }),
    );
  });

  test("have the digest of each message's bytes, which are not those of the answer", () => {
    fc.assert(
      fc.property(arrivals(), (all) => {
        const digests = all.map((arrival) => createHash("sha256").update(rawOf(arrival)).digest());
        expect(digestsOf(toRows(all, AT))).toEqual(Buffer.concat(digests));
      }),
    );
  });

  test("keep the bytes, the answer and who sent it when their texts are left out", () => {
    fc.assert(
      fc.property(arrivals(), (all) => {
        const whole = toRows(all, AT);
        const none = all.map(() => null);
        expect(withoutTexts(whole)).toEqual({
          ...whole,
          controlIds: none,
          messageTypes: none,
          senders: none,
        });
      }),
    );
  });

  test("name the character set of HL7 alone, where it is known", () => {
    const hl7 = anArrival(1, { encoding: "latin1" });
    const { message } = hl7.record;
    const other: Arrival = {
      ...hl7,
      record: { ...hl7.record, message: { ...message, content: { kind: "csv", rows: phi([]) } } },
    };
    expect(toRows([hl7, anArrival(2, { encoding: undefined }), other], null).encodings).toEqual([
      "latin1",
      null,
      null,
    ]);
  });
});

test("an end is where the lengths before have led to; none at all adds nothing", () => {
  expect(endsOf([3, -1, 0, 4])).toEqual([3, 3, 3, 7]);
});
