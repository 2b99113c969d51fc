import { expect, it } from "vitest";
import { recordRefills } from "../../src/ledger/refills.ts";
import { addAlert } from "../alerts/add-alert.ts";
import { csvMessage, type Lab, withLab } from "./with-lab.ts";

const NORTH = { facilityId: 12, facilityCode: "NORTH", surface: "request" } as const;

/** Three records of each kind. */
async function fill({ take, pool }: Lab): Promise<void> {
  for (const n of [1, 2, 3]) {
    await take("bench", [csvMessage(n)]);
    await pool.query("insert into deliveries (connector, file_name, bytes) values ('bench', $1, 'x')", [
      `${n}`,
    ]);
    await pool.query("insert into tasks (order_id, kind, text) values ($1, 'cancel', 'ring the ward')", [n]);
    await pool.query("insert into audit (actor, action, target) values ('ada', 'retry', $1)", [`o${n}`]);
    await addAlert(pool, "tankOverdue", `T${n}`);
    const refill = { id: n, status: "COMPLETED", storageId: 31, storageName: "Tank 4" } as const;
    const change = { known: undefined, isAnother: false, refill, reached: 3, flagged: [], hasNews: true };
    await recordRefills(pool, NORTH, [{ ...change, remoteStatus: refill.status, counted: refill.status }]);
  }
}

it.each([
  ["orders list", ["o3", "o2", "o1"]],
  ["orders list --find file-", ["o3", "o2", "o1"]],
  ["messages list", ["m3", "m2", "m1"]],
  ["files list", ["f3", "f2", "f1"]],
  ["results list", ["d3", "d2", "d1"]],
  ["tasks list", ["k1", "k2", "k3"]],
  ["alerts list", ["a3", "a2", "a1"]],
  ["audit list", [3, 2, 1]],
  ["refills list", [3, 2, 1]],
])("%s names the option that shows the next page, until there is none", (words, expected) =>
  withLab(async (lab) => {
    await fill(lab);
    const ids: unknown[] = [];
    for (let next: string[] | undefined = []; next !== undefined; ) {
      const command = [...words.split(" "), "--limit", "1", ...next];
      const [list] = Object.values(JSON.parse((await lab.cli([...command, "--json"])).stdout)) as [object[]];
      ids.push(...list.map((row) => Object.entries(row).find(([key]) => ID.test(key))?.[1]));
      const { stderr } = await lab.cli(command);
      next = /--limit shows more, (--\w+ \w+) the next ones\./.exec(stderr)?.[1]?.split(" ");
    }
    expect(ids).toEqual(expected);
  }),
);

/** The key of a record's own id. */
const ID = /^(id|orderId|messageId|fileId|deliveryId|taskId|ledgerId)$/;

it("takes no id of another kind", () =>
  withLab(async ({ cli }) => {
    const { status, stderr } = await cli(["orders", "list", "--before", "m2"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("Expected an id such as o17.")]);
  }));
