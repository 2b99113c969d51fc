import { expect, test } from "vitest";
import { MllpSender } from "../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../src/core/clock.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { listOpenDeliveries } from "../../src/ledger/operator/views.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { retryDelivery } from "../../src/ledger/results/deliveries.ts";
import { builtinProfiles } from "../../src/mapping/profile/builtin.ts";
import { compileProfile } from "../../src/mapping/profile/compile-profile.ts";
import { deliverTo } from "../support/deliver.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { aMessage, anOrder, aRecord, commit } from "../support/orders.ts";
import { withResultLab } from "../support/result-lab.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

async function hl7Profile() {
  const definition = builtinProfiles["builtin/hl7-orders"];
  if (!definition) throw new Error("no built-in profile");
  const compiled = await compileProfile("builtin/hl7-orders", definition, { loadModule: async () => ({}) });
  if (!compiled.ok) throw new Error("the built-in profile has mistakes");
  return compiled.profile;
}

/** Gives a test what delivers over a real connection to a lab on this port, and what ends that connection. */
async function aDelivery({ pool }: TestLedger, port: number) {
  const profile = await hl7Profile();
  const settings = { host: "127.0.0.1", port, connectTimeoutMs: 5_000, answerTimeoutMs: 300 };
  const sender = new MllpSender(settings, { clock: systemClock, logger: silent });
  const deliver = deliverTo(
    pool,
    {
      compose: async (open) => composeMessages(open, profile),
      deliver: ({ bytes }) =>
        sender.send(bytes, Hl7Message.parse(bytes.toString()).header.messageControlId ?? ""),
    },
    { parkAfter: 1 },
  );
  return { deliver, close: () => sender.close() };
}

test.each(["close", "silence"] as const)(
  "a result that the lab answers with nothing but %s stops no result of another order, and goes out unchanged once the lab takes it",
  (choke) =>
    withLedger(async (ledger) => {
      const { pool } = ledger;
      const numbers = ["A-1", "A-2", "A-3"];
      const ids = await commit(
        pool,
        numbers.map((number, index) => ({
          ...aRecord(index + 1, [anOrder({ placerOrderNumber: number })]),
          message: aMessage(index + 1, omlO33({ number })),
        })),
      );
      const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
      await pool.query("update outcomes set is_composed = true");
      for (const orderId of [ids[0], ids[1], ids[0], ids[2]] as number[]) {
        await changeOrders(pool, [{ orderId, to: "parked", failure, isReported: true }]);
        await changeOrders(pool, [{ orderId, to: "received", failure: null }]);
      }
      let isChoking = true;
      const refusedTexts: string[] = [];
      const chokesOn = (text: string) => {
        if (!isChoking || !/\|A-1[|^]/.test(text)) return undefined;
        refusedTexts.push(text);
        return choke;
      };
      await withResultLab(
        () => 0,
        async (lab) => {
          const { deliver, close } = await aDelivery(ledger, lab.port);
          const heardNumbers = () =>
            [...lab.heard.values()].map(([text]) => text?.match(/\|(A-\d)[|^]/)?.[1]).sort();
          // On a busy machine an answer may come too late, and then what it was for goes out again.
          const [parked, ...behind] = await eventually(async () => {
            await deliver();
            const open = await listOpenDeliveries(pool, 10);
            return open.length === 2 && open[0]?.state === "parked" && open;
          });
          expect(heardNumbers()).toEqual(["A-2", "A-3"]);
          expect(parked).toMatchObject({ state: "parked", failure: { code: "DELIVERY_FAILS_ALONE" } });
          expect(behind).toMatchObject([{ state: "pending", attempts: 0 }]);
          isChoking = false;
          await retryDelivery(pool, Number(parked?.deliveryId.slice(1)), { actor: "kim" });
          await eventually(async () => {
            await deliver();
            return (await listOpenDeliveries(pool, 10)).length === 0;
          });
          expect(heardNumbers()).toEqual(["A-1", "A-1", "A-2", "A-3"]);
          const [, , [first] = []] = [...lab.heard.values()];
          expect(new Set(refusedTexts)).toEqual(new Set([first]));
          await close();
        },
        chokesOn,
      );
    }),
);
