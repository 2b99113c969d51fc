import { describe, expect, test } from "vitest";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { forgetOld } from "../../src/ledger/prune.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import type { ProfileDefinition } from "../../src/mapping/profile/schema.ts";
import { hl7Message, hl7Profile, hl7Text, mapOne } from "../mapping/mapped.ts";
import { commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Two orders; the number of each stands in OBR-18 of the other one, too. */
const TEXT = hl7Text("ORM^O01", [
  "PID|1||S-1^^^NORTH^MR||Beispiel^Anna||19840229|F",
  "PV1|1|I|W-1",
  "ORC|NW|A-1||G-1",
  "OBR|1|A-1||CRYO-STORE^First^L|||||||||||SEM^^V-1|||A-2",
  "ORC|NW|A-2||G-2",
  "OBR|2|A-2||CRYO-STORE^Second^L|||||||||||SEM^^V-2|||A-1",
]);

/** What is sent of its first order, taken by one profile and composed by another one. */
function resultAfter(
  taken: ProfileDefinition,
  composed: ProfileDefinition,
  isPruned = false,
): Promise<string[]> {
  let segments: string[] = [];
  const made = withLedger(async ({ pool }) => {
    const message = hl7Message(TEXT);
    const mapped = mapOne(await hl7Profile(taken), message);
    expect(mapped.problems).toEqual([]);
    const [orderId] = await commit(pool, [{ ...mapped, message }]);
    await pool.query("update outcomes set is_composed = true");
    if (isPruned) {
      await pool.query("update orders set state = 'cancelled', changed_at = now() - interval '1 day'");
      await pool.query("update messages set received_at = now() - interval '1 day'");
      expect((await forgetOld(pool, { messagesMs: 1, ordersMs: 86_400_000 * 365 }, 10)).messages).toBe(1);
      await pool.query("update orders set state = 'received'");
    }
    await changeOrders(pool, [{ orderId: orderId as number, to: "cancelled", isReported: true }]);
    const open = await listOpenOutcomes(pool, "lims", 10);
    const { deliveries } = await composeMessages(open, await hl7Profile(composed));
    segments = deliveries[0]?.bytes.toString("utf8").split("\r").slice(1, 4) ?? [];
  });
  return made.then(() => segments.map((segment) => segment.replace(/\d{14}\+0000/g, "TIME")));
}

describe("a result whose profile was changed after its message came", () => {
  const AS_IT_CAME = [
    "PID|1||S-1^^^NORTH^MR||Beispiel^Anna||19840229|F",
    "ORC|OC|A-1||G-1|CA||||TIME",
    "OBR|1|A-1||CRYO-STORE^First^L|||TIME|||||||||||||||TIME|||X",
  ];

  test("has what its own order had, though the number would now be read in the other one", async () => {
    expect(await resultAfter({}, { placerOrderNumber: ["OBR-18"] })).toEqual(AS_IT_CAME);
  });

  test("has it also where no order could be read any more", async () => {
    expect(await resultAfter({}, { placerOrderNumber: ["ZZZ-1"] })).toEqual(AS_IT_CAME);
  });

  test("has values of the message for the fields that named them when it came, and none for others", async () => {
    const fields = (path: string) => ({ results: { fields: { "ORC-21": `ward {${path}}` } } });
    const [, orc] = await resultAfter(fields("PV1-3"), fields("PV1-3"));
    expect(orc).toMatch(/\|ward W-1$/);
    const [, other] = await resultAfter(fields("PV1-3"), fields("PV1-2"));
    expect(other).toMatch(/\|ward $/);
  });

  test("has the order's numbers alone once its message was pruned", async () => {
    const [pid, orc] = await resultAfter({}, {}, true);
    expect([pid, orc]).toEqual(["PID|1||S-1", "ORC|OC|A-1|||CA||||TIME"]);
  });
});
