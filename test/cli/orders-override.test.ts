import { describe, expect, it } from "vitest";
import { csvMessage, type Lab, withLab } from "./with-lab.ts";

const PARK = `
update orders
   set state = 'parked', failure_code = $2, failure_text = 'container 1 is in o1 too'
 where placer_order_number = $1`;

async function parked({ take, pool }: Lab, code: string): Promise<void> {
  await take("bench", [csvMessage(1), csvMessage(2)]);
  await pool.query(PARK, ["C-2", code]);
}

describe("orders retry --override", () => {
  it("has a repeated order done, and keeps the person and the reason in audit and timeline", async () => {
    await withLab(async (lab) => {
      await parked(lab, "ORDER_CONTAINER_IN_OPEN_ORDER");
      const { status, stdout } = await lab.cli([
        "orders",
        "retry",
        "C-2",
        "--override",
        "--reason",
        "two vials",
      ]);
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: "✓ o2 (C-2) goes past the other order and will be tried again\n",
      });
      const { rows } = await lab.pool.query("select state, overrides from orders where id = 2");
      expect(rows).toEqual([{ state: "received", overrides: ["containers"] }]);
      const audit = await lab.pool.query("select actor <> '' as named, action, target, detail from audit");
      expect(audit.rows).toEqual([
        { named: true, action: "override", target: "o2", detail: { reason: "two vials" } },
      ]);
      expect((await lab.cli(["orders", "show", "o2"])).stdout).toMatch(
        /to be done although another order is like it, says .+: two vials/,
      );
    });
  });

  it("wants a reason", async () => {
    await withLab(async (lab) => {
      await parked(lab, "ORDER_CONTAINER_IN_OPEN_ORDER");
      const { status, stderr } = await lab.cli(["orders", "retry", "C-2", "--override"]);
      expect(status).toBe(2);
      expect(stderr).toContain("--reason");
    });
  });

  it("goes past nothing else, least of all another patient", async () => {
    await withLab(async (lab) => {
      await parked(lab, "SUBJECT_MISMATCH");
      const { status, stdout } = await lab.cli(["orders", "retry", "C-2", "--override", "--reason", "sure"]);
      expect(status).toBe(1);
      expect(stdout).toContain("is not parked because it matches another order");
      const { rows } = await lab.pool.query("select state, overrides from orders where id = 2");
      expect(rows).toEqual([{ state: "parked", overrides: [] }]);
    });
  });
});
