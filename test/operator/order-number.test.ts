import { describe, expect, it } from "vitest";
import { numberJson, showNumber } from "../../src/operator/order-words.ts";
import { csvMessage, type Lab, withLab } from "../cli/with-lab.ts";

const LAB = { placerOrderNumber: "1001", placerAuthority: { namespaceId: "LAB", universalId: "1.2.3" } };

describe("an order number", () => {
  it("is shown with who assigned it, where that is known", () => {
    expect([LAB, { placerOrderNumber: "1001" }, {}].map(showNumber)).toEqual([
      "1001 (LAB^1.2.3)",
      "1001",
      "",
    ]);
    expect([LAB, {}].map(numberJson)).toEqual([
      { placerOrderNumber: "1001", placerAuthority: "LAB^1.2.3" },
      { placerOrderNumber: null, placerAuthority: null },
    ]);
  });

  it("is shown so by the commands that show it", () =>
    withLab(async (lab) => {
      await placed(lab);
      const shown = await Promise.all([lab.cli(["orders", "list"]), lab.cli(["tasks"]), lab.cli(["queue"])]);
      for (const { stdout } of shown) expect(stdout).toContain("1001 (LAB)");
      expect((await lab.cli(["orders", "show", "1001"])).stdout).toMatch(/numbered by +LAB\n/);
      const json = JSON.parse((await lab.cli(["orders", "show", "1001", "--json"])).stdout);
      expect(json.orders).toMatchObject([{ placerOrderNumber: "1001", placerAuthority: "LAB" }]);
    }));
});

/** An order that is tried again and has a task. */
async function placed({ take, pool }: Lab): Promise<void> {
  await take("bench", [csvMessage(1)]);
  await pool.query(
    `update orders set placer_order_number = '1001', placer_authority = '{"namespaceId": "LAB"}',
                       failure_code = 'SERVICE_UNAVAILABLE', failure_text = 'away'`,
  );
  await pool.query("insert into tasks (order_id, kind, text) select id, 'cancel', 'see to it' from orders");
}
