import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listEvents } from "../../src/ledger/operator/views.ts";
import { csvMessage, type Lab, withLab } from "./with-lab.ts";

const INSERT = `
insert into deliveries (connector, file_name, bytes, state, order_ids, delivered_at)
values ($1, $2, $3, $4, $5, case when $4 = 'delivered' then now() end)
returning id`;

async function addResult(
  { pool }: Lab,
  name: string,
  state: string,
  { connector = "bench", bytes = Buffer.from("Ottilie") as Buffer | null, orderIds = [1] } = {},
): Promise<string> {
  const { rows } = await pool.query<{ id: number }>(INSERT, [connector, name, bytes, state, orderIds]);
  return `d${rows[0]?.id}`;
}

const withOrder = (test: (lab: Lab) => Promise<void>) =>
  withLab(async (lab) => {
    await lab.take("bench", [csvMessage(1)]);
    await test(lab);
  });

describe("results list", () => {
  it("lists what goes and went to the lab, newest first, by state, connector and order", () =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "delivered");
      await addResult(lab, "b.hl7", "pending", { connector: "lims", orderIds: [] });
      await lab.pool.query(
        "insert into outcomes (connector, message_id, order_id, kind, payload, delivery_id) values ('bench', 1, 1, 'changed', '{}', 1)",
      );
      const idsOf = async (...words: string[]) => {
        const { stdout } = await lab.cli(["results", "list", "--json", ...words]);
        return JSON.parse(stdout).results.map(({ deliveryId }: { deliveryId: string }) => deliveryId);
      };
      expect(await idsOf()).toEqual(["d2", "d1"]);
      expect(await idsOf("--state", "delivered")).toEqual(["d1"]);
      expect(await idsOf("--connector", "lims")).toEqual(["d2"]);
      expect(await idsOf("--order", "C-1")).toEqual(["d1"]);
      expect((await lab.cli(["results", "list"])).stdout).toMatch(/^d1 +bench +a\.csv .* delivered/m);
      expect(await lab.cli(["results", "list", "--order", "X-9"])).toMatchObject({ status: 5 });
    }));
});

describe("results show", () => {
  it("shows the text with --show-phi alone, and writes that down", () =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "delivered");
      const hidden = (await lab.cli(["results", "show", "d1"])).stdout;
      expect(hidden).toContain("Result d1: delivered");
      expect(hidden).not.toContain("Ottilie");
      expect((await lab.cli(["results", "show", "d1", "--show-phi"])).stdout).toContain("Ottilie");
      const { rows } = await lab.pool.query("select action, target from audit");
      expect(rows).toEqual([{ action: "show-phi", target: "d1" }]);
    }));

  it.each([
    ["UTF-8", Buffer.from("Süd"), "Süd"],
    ["Windows-1252", Buffer.from("Süd €", "latin1").fill(0x80, 4), "Süd €"],
    ["UTF-16", Buffer.from("\ufeffSüd", "utf16le"), "Süd"],
    [
      "HL7 in Latin-1",
      Buffer.from("MSH|^~\\&|A|B|C|D|2026||ACK|1|P|2.5|||||||8859/1\rNTE|1||Süd\r", "latin1"),
      "Süd",
    ],
  ])("shows a text of %s as it reads", (_, bytes, text) =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "delivered", { bytes });
      expect(
        JSON.parse((await lab.cli(["results", "show", "d1", "--show-phi", "--json"])).stdout).text,
      ).toContain(text);
    }),
  );
});

describe("results resend", () => {
  it("has a result that was sent wait for its turn again, with name and bytes, and records who wanted it", () =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "delivered");
      const { status, stdout } = await lab.cli(["results", "resend", "d1", "--reason", "lost in the import"]);
      expect([status, stdout]).toEqual([0, "✓ d1 is sent again as a.csv\n"]);
      const { rows } = await lab.pool.query("select state, bytes, file_name, attempts from deliveries");
      expect(rows).toEqual([
        { state: "pending", bytes: Buffer.from("Ottilie"), file_name: "a.csv", attempts: 0 },
      ]);
      const audit = await lab.pool.query("select action, target, detail from audit");
      expect(audit.rows).toEqual([
        { action: "resend", target: "d1", detail: { reason: "lost in the import" } },
      ]);
      expect((await listEvents(lab.pool, 1)).at(-1)).toMatchObject({
        ...{ kind: "resend_asked", detail: { deliveryId: "d1", reason: "lost in the import" } },
      });
      expect((await lab.cli(["orders", "show", "o1"])).stdout).toContain(
        "result d1 is sent to the lab again, says",
      );
    }));

  it("waits behind an earlier result of its order that the lab doesn't have", () =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "parked");
      await addResult(lab, "b.csv", "delivered");
      const { stdout } = await lab.cli(["results", "resend", "d2"]);
      expect(stdout).toBe("✓ d2 is sent again as b.csv, once d1 is delivered or given up\n");
    }));

  it.each([
    ["pending", {}, "isn't sent yet; to try it now: `cryobridge queue retry d1`"],
    ["parked", {}, "isn't sent yet; once its cause is fixed: `cryobridge queue retry d1`"],
    ["dropped", {}, "it was given up before the lab had it"],
    ["delivered", { bytes: null }, "its bytes are not kept any more (retention.messages)"],
    ["delivered", { connector: "gone" }, "the configuration has no connector gone any more"],
  ] as const)("refuses one that is %s %j, with what to do instead", (state, parts, words) =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", state, parts);
      const { status, stdout } = await lab.cli(["results", "resend", "d1"]);
      expect(status).toBe(1);
      expect(stdout).toContain(words);
      const { rows } = await lab.pool.query("select state from deliveries");
      expect(rows).toEqual([{ state }]);
      expect((await lab.pool.query("select 1 from audit")).rowCount).toBe(0);
    }),
  );

  it("sends all that was sent about an order, after asking", () =>
    withOrder(async (lab) => {
      for (const name of ["a.csv", "b.csv"]) await addResult(lab, name, "delivered");
      await addResult(lab, "c.csv", "pending");
      await lab.pool.query(
        "insert into outcomes (connector, message_id, order_id, kind, payload, delivery_id) select 'bench', 1, 1, 'changed', '{}', n from generate_series(1, 3) n",
      );
      expect(await lab.cli(["results", "resend", "--order", "C-1"])).toMatchObject({ status: 2 });
      const { stdout } = await lab.cli(["results", "resend", "--order", "C-1", "--yes"]);
      expect(stdout).toContain("✓ d1 is sent again as a.csv");
      expect(stdout).toContain("✓ d2 is sent again as b.csv");
      expect(stdout).not.toContain("d3 ");
    }));

  it("says of one that still lies in the folder that it is there already, and sends it once it is gone", () =>
    withOrder(async (lab) => {
      await addResult(lab, "a.csv", "delivered");
      const out = join(lab.folder, "csv", "out");
      await mkdir(out, { recursive: true });
      await writeFile(join(out, "a.csv"), "Ottilie");
      const stateOf = async () => (await lab.pool.query("select state from deliveries")).rows[0]?.state;
      const there = await lab.cli(["results", "resend", "a.csv"]);
      expect(there.stdout).toMatch(/^✓ d1 is there already: .*a\.csv is as it was sent, and stays so/);
      await lab.pool.query("update deliveries set state = 'delivered'");
      await rm(join(out, "a.csv"));
      expect((await lab.cli(["results", "resend", "a.csv"])).stdout).toBe("✓ d1 is sent again as a.csv\n");
      expect(await stateOf()).toBe("pending");
      expect((await lab.cli(["results", "show", "a.csv"])).stdout).toContain("Result d1");
      expect(await lab.cli(["results", "resend", "b.csv"])).toMatchObject({ status: 5 });
    }));

  it("wants results or an order, not both", () =>
    withOrder(async ({ cli }) => {
      expect(await cli(["results", "resend"])).toMatchObject({ status: 2 });
      expect(await cli(["results", "resend", "d1", "--order", "o1"])).toMatchObject({ status: 2 });
      expect(await cli(["results", "resend", "d9"])).toMatchObject({ status: 5 });
      expect(await cli(["results", "resend", "--order", "o1"])).toMatchObject({ status: 1 });
    }));
});
