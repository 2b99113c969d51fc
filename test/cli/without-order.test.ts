import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { forgetOld } from "../../src/ledger/prune.ts";
import { csvMessage, hl7Message, hl7Text, type Lab, PATIENT, withLab } from "./with-lab.ts";

/** An order of a table that waits, another one that was refused, and one of HL7 that waits. */
function withUnmadeOrders(test: (lab: Lab) => Promise<void>): Promise<void> {
  return withLab(async (lab) => {
    await lab.take("bench", [csvMessage(1, { facility: "WEST" })]);
    await lab.take("bench", [csvMessage(2, { subject_code: "" })]);
    await lab.take("lims", [hl7Message(1, { facility: "EAST", number: "P-7" })]);
    await test(lab);
  });
}

const WORDS = [
  ["C-1", "m1", 'waits for the facility "WEST"'],
  ["V-1", "m1", 'waits for the facility "WEST"'],
  ["C-2", "m2", "was refused: line 3, column subject_code: is empty"],
  ["V-2", "m2", "was refused: line 3, column subject_code: is empty"],
  ["P-7", "m3", 'waits for the facility "EAST"'],
  ["VIAL-1", "m3", 'waits for the facility "EAST"'],
  ["MSG0001", "m3", 'waits for the facility "EAST"'],
] as const;

describe("an order that waits for a code, or was refused", () => {
  it("is found by its number, its container's label and its control id, with the message and the reason", () =>
    withUnmadeOrders(async ({ cli }) => {
      for (const [word, id, why] of WORDS) {
        const { status, stderr } = await cli(["orders", "show", word]);
        expect(status).toBe(5);
        expect(stderr).toContain(`no order ${word}; it is in message ${id}, which ${why}`);
        expect(stderr).toContain(`\`cryobridge messages show ${id}\` shows the message.`);
        const listed = await cli(["orders", "list", "--find", word]);
        expect(listed.stdout).toContain(`No order has the number, id, container or control id ${word}`);
        expect(listed.stderr).toContain(`${word}: it is in message ${id}, which ${why}`);
        const { messages } = JSON.parse((await cli(["messages", "list", "--find", word, "--json"])).stdout);
        expect(messages).toMatchObject([{ messageId: id }]);
      }
    }));

  it("is not found by whom it is about, and after retention by nothing but its message", () =>
    withUnmadeOrders(async ({ cli, pool }) => {
      const { rows } = await pool.query("select names from messages order by id");
      expect(rows.map(({ names }) => names)).toEqual([
        ["C-1", "V-1"],
        ["C-2", "V-2"],
        ["P-7", "VIAL-1"],
      ]);
      for (const value of Object.values(PATIENT))
        expect((await cli(["messages", "list", "--find", value])).stdout).toMatch(/^No message has /);
      await pool.query("update messages set received_at = now() - interval '1 year'");
      await pool.query("update outcomes set is_composed = true");
      await forgetOld(pool, { messagesMs: 1000, ordersMs: 1000 }, 100);
      const kept = await pool.query("select id from messages where names is not null order by id");
      // What waits keeps its text, too.
      expect(kept.rows).toEqual([{ id: 1 }, { id: 3 }]);
    }));

  it("is found as an order once it is one, and its message by nothing more", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      expect((await cli(["orders", "show", "C-1"])).status).toBe(0);
      expect((await cli(["messages", "list", "--find", "C-1"])).stdout).toMatch(/^No message has /);
      expect((await pool.query("select from messages where names is not null")).rowCount).toBe(0);
    }));

  it("names a hundred of its orders and containers at most", () =>
    withLab(async ({ take, pool }) => {
      const containers = Array.from({ length: 300 }, (_, n) => `SAC|||W-${n}`).join("\r");
      const text = hl7Text({ facility: "EAST" }).replace("SAC|||VIAL-1", containers);
      const content = { kind: "hl7", text: phi(text), encoding: "utf-8" } as const;
      await take("lims", [{ ...hl7Message(1), raw: phi(Buffer.from(text)), content }]);
      const { rows } = await pool.query("select jsonb_array_length(names) as count from messages");
      expect(rows).toEqual([{ count: 100 }]);
    }));
});
