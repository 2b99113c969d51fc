import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { decodeHl7 } from "../../src/formats/hl7/charset.ts";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { parseId } from "../../src/ledger/ids.ts";
import { listOpenDeliveries } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { retryDelivery } from "../../src/ledger/results/deliveries.ts";
import { hl7Profile, mapOne } from "../mapping/mapped.ts";
import { deliverTo } from "../support/deliver.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withIntakes } from "../support/with-intakes.ts";
import { type TestLedger, withLedger } from "../support/with-ledger.ts";

/** An order of somebody with a name, which came in Windows-1250, and a lab that takes its results. */
async function aLab({ pool }: TestLedger, name: string) {
  const raw = Buffer.concat([
    Buffer.from("MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||ORM^O01|C1|P|2.5\rPID|1||S-1||"),
    // A letter that ISO 8859-1 does not have, or has at another place.
    Buffer.from(name, "latin1"),
    Buffer.from("\rORC|NW|A-1\rOBR|1|A-1||CRYO-STORE|||||||||||SEM^^V-1\r"),
  ]);
  const encoding = "windows-1250";
  const { text } = decodeHl7(raw, { override: encoding });
  const message = { ordinal: 1, place: at("message 1"), raw: phi(raw) };
  const content = { kind: "hl7", text: phi(text), encoding } as const;
  const profile = await hl7Profile();
  const { echo } = mapOne(profile, { ...message, content });
  const [orderId] = await commit(pool, [aRecord(1, [anOrder()], { message: { ...message, content }, echo })]);
  await pool.query("update outcomes set is_composed = true");
  const failure = { code: "UNCLASSIFIED", text: "invented" } as const;
  await changeOrders(pool, [
    { orderId: orderId as number, from: ["received"], to: "parked", failure, isReported: true },
  ]);
  const lab = { profile, isAway: false, got: [] as Buffer[], tried: [] as Buffer[] };
  const deliver = deliverTo(pool, {
    compose: async (open) => composeMessages(open, lab.profile),
    deliver: async ({ bytes }) => {
      lab.tried.push(bytes);
      if (lab.isAway) throw new Failure("MLLP_NO_ANSWER", "nothing came in time");
      lab.got.push(bytes);
    },
  });
  return {
    lab,
    setEncoding: async (encoding: string) => {
      lab.profile = await hl7Profile({ results: { encoding } });
    },
    deliver,
    open: () => listOpenDeliveries(pool, 10),
  };
}

/** `M\u00fcller` in Windows-1250, and `\u0141aska`, whose first letter ISO 8859-1 does not have. */
const [MUELLER, LASKA] = ["M\xfcller", "\xa3aska"];

test("a result that is sent again has the bytes that it had, though the character set was changed in between", () =>
  withLedger(async (ledger) => {
    const { lab, setEncoding, deliver } = await aLab(ledger, MUELLER);
    await setEncoding("8859/1");
    lab.isAway = true;
    await deliver();
    await setEncoding("utf-8");
    lab.isAway = false;
    await eventually(async () => {
      await deliver();
      return lab.got.length === 1;
    });
    expect(lab.tried.every((bytes) => bytes.equals(lab.got[0] as Buffer))).toBe(true);
    expect(lab.got[0]?.includes(Buffer.from("|8859/1\r"))).toBe(true);
    expect(lab.got[0]?.includes(Buffer.from("||M\xfcller\r", "latin1"))).toBe(true);
  }));

test("a result that its character set can't hold is parked with the place, and goes out once the setting is corrected", () =>
  withLedger(async (ledger) => {
    const { lab, setEncoding, deliver, open } = await aLab(ledger, LASKA);
    await setEncoding("8859/1");
    await deliver();
    expect(lab.tried).toEqual([]);
    const [parked] = await open();
    expect(parked).toMatchObject({
      state: "parked",
      failure: {
        code: "RESULT_NOT_ENCODABLE",
        text: "PID-5 holds a character that iso-8859-1 does not have",
      },
    });
    await setEncoding("as-received");
    await retryDelivery(ledger.pool, parseId("d", parked?.deliveryId ?? "") as number, {
      actor: "kim",
      reason: "corrected",
    });
    await deliver();
    expect(lab.got.map((bytes) => bytes.includes(Buffer.from("||\xa3aska\r", "latin1")))).toEqual([true]);
    expect(await open()).toEqual([]);
  }));

test("what comes over a connection is answered in the character set that it was read in, from the first on", () =>
  withIntakes(async ({ open }) => {
    const profiles = { site: { extends: "builtin/hl7-orders", results: { encoding: "as-received" } } };
    const intake = await open({ profile: "site" }, undefined, { profiles });
    for (const number of ["A-1", "A-2", "A-3"]) {
      const text = omlO33({ number }).replace("MSH|^~\\&|LIMS", "MSH|^~\\&|ŁIMS");
      const content = { kind: "hl7", text: phi(text), encoding: "iso-8859-2" } as const;
      const message = { ordinal: 1, place: at("message 1"), raw: phi(Buffer.from(text)), content };
      const [received] = await intake.accept({ connector: "hl7", peer: { address: "127.0.0.1" } }, [message]);
      const reply = received?.reply ?? Buffer.alloc(0);
      expect(reply.includes(Buffer.from("|\xa3IMS|", "latin1"))).toBe(true);
      expect(decodeHl7(reply).encoding).toBe("iso-8859-2");
    }
  }));
