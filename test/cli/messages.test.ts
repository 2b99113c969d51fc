import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { at } from "../support/places.ts";
import { csvMessage, hl7Message, hl7Text, PATIENT, withLab } from "./with-lab.ts";

describe("messages list", () => {
  it("shows what came in with its verdict, its orders and its first problem", async () => {
    await withLab(async ({ cli, take }) => {
      await take("lims", [hl7Message(1)]);
      await take("bench", [csvMessage(1, { facility: "NOWHERE", subject_code: "" })]);
      const { stdout } = await cli(["messages", "list"]);
      const [, refused, accepted] = stdout.split("\n");
      expect(refused).toMatch(/^m2 +bench +file-2\.csv +line 2 .* refused .*names facility "NOWHERE"/);
      expect(accepted).toMatch(/^m1 +lims +file-1\.csv +message 1 +OML\^O33 +MSG0001 +accepted .* o1/);
      const only = JSON.parse((await cli(["messages", "list", "--verdict", "refused", "--json"])).stdout);
      expect(only.hasMore).toBe(false);
      expect(only.messages).toMatchObject([
        {
          messageId: "m2",
          verdict: "refused",
          orderIds: [],
          problems: [
            { code: "MAPPING_FACILITY_UNKNOWN", hint: expect.stringContaining("facilities") },
            { code: "MAPPING_VALUE_MISSING" },
          ],
        },
      ]);
    });
  });
});

describe("messages show", () => {
  it("shows every problem with its hint, and keeps the text to itself", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1, { facility: "NOWHERE", date_of_birth: "1999-02-30" })]);
      const { status, stdout } = await cli(["messages", "show", "m1"]);
      expect(status).toBe(0);
      expect(stdout).toContain("MAPPING_FACILITY_UNKNOWN");
      expect(stdout).toContain("MAPPING_DATE_INVALID");
      expect(stdout).toContain("with the service's facility id");
      expect(stdout).toContain("--show-phi shows it");
      expect(stdout).not.toContain(PATIENT.lastName);
    });
  });

  it("shows the text to who asks, line by line, and records that", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("lims", [hl7Message(1)]);
      const { stdout } = await cli(["messages", "show", "m1", "--show-phi"]);
      expect(stdout).toContain(
        `\n  PID|1||${PATIENT.code}^^^LAB^MR||${PATIENT.lastName}^${PATIENT.firstName}|`,
      );
      const audit = await pool.query("select action, target from audit");
      expect(audit.rows).toEqual([{ action: "show-phi", target: "m1" }]);
    });
  });

  it("ends with status 2 for what is no id, and with 5 for one that isn't there", async () => {
    await withLab(async ({ cli }) => {
      expect((await cli(["messages", "show", "m7"])).status).toBe(5);
      expect((await cli(["messages", "show", "P-1"])).status).toBe(2);
    });
  });
});

describe("messages replay", () => {
  it("maps refused messages again with the corrected configuration and says what became of them", async () => {
    await withLab(async ({ cli, take, pool, configFile }) => {
      await take("bench", [csvMessage(1, { facility: "SOUTH" })]);
      await take("lims", [hl7Message(1, { facility: "SOUTH" })]);
      const again = await cli(["messages", "replay", "m1"]);
      expect(again.status).toBe(1);
      expect(again.stdout).toContain("m1 refused again\n  line 2, column facility: ");

      await pool.query("insert into tasks (message_id, kind, text) values (2, 'refusal', 'see to it')");
      const text = await readFile(configFile, "utf8");
      await writeFile(configFile, text.replace("NORTH: 12", "NORTH: 12, SOUTH: 13"));
      const { status, stdout } = await cli([
        "messages",
        "replay",
        "m1",
        "m2",
        "--yes",
        "--reason",
        "added SOUTH",
      ]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: "✓ m1 accepted: o1\n✓ m2 accepted: o2\n" });
      const orders = await pool.query(
        "select placer_order_number, facility_id::integer from orders order by id",
      );
      expect(orders.rows).toEqual([
        { placer_order_number: "C-1", facility_id: 13 },
        { placer_order_number: "P-1", facility_id: 13 },
      ]);
      const replays = await pool.query(
        "select replay_of::integer from messages where verdict = 'accepted' order by id",
      );
      expect(replays.rows).toEqual([{ replay_of: 1 }, { replay_of: 2 }]);
      const audit = await pool.query(
        "select target, detail from audit where detail ->> 'reason' is not null",
      );
      expect(audit.rows.map(({ target }) => target)).toEqual(["m1", "m2", "k1"]);
      expect((await cli(["tasks"])).stdout).not.toContain("see to it");
    }, "mapping: { unknownCodes: refuse }");
  });

  it("maps messages in the order of receipt, whatever the order in which they are named", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await cli(["messages", "replay", "m2", "m1", "--yes"]);
      const { rows } = await pool.query("select replay_of::integer from messages where id > 2 order by id");
      expect(rows).toEqual([{ replay_of: 1 }, { replay_of: 2 }]);
    });
  });

  it("makes no second order of a message that was accepted", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("lims", [hl7Message(1)]);
      const { status, stdout } = await cli(["messages", "replay", "m1"]);
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: "✓ m1 nothing new: its orders exist already (o1)\n",
      });
      expect((await pool.query("select 1 from orders")).rowCount).toBe(1);
    });
  });

  it("names the place within a message whose characters still don't fit", async () => {
    await withLab(async ({ cli, take, pool }) => {
      const raw = phi(
        Buffer.concat([Buffer.from(hl7Text()), Buffer.from([0x4e, 0x54, 0x45, 0x7c, 0xff, 0x0d])]),
      );
      const problem = {
        code: "HL7_CHARSET_BYTES",
        place: at("message 1, line 12"),
        message: "does not fit",
      } as const;
      await take("lims", [
        { ordinal: 1, place: at("message 1"), raw, content: { kind: "unreadable", problems: [problem] } },
      ]);
      await cli(["messages", "replay", "m1"]);
      const { rows } = await pool.query("select problems->0->'place' as place from messages where id = 2");
      expect(rows).toEqual([{ place: at("message 1, line 8 of it") }]);
    });
  });

  it("reports one whose text is pruned meanwhile, and goes on with the others", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3)]);
      // Retention comes when the first one is replayed.
      await pool.query(
        `create function prune_second() returns trigger language plpgsql as
         $$ begin update messages set raw = null, csv_rows = null where id = 2; return null; end $$`,
      );
      await pool.query(
        "create trigger prunes after insert on audit for each row execute function prune_second()",
      );
      const { status, stdout } = await cli(["messages", "replay", "m1", "m2", "m3", "--yes"]);
      expect(status).toBe(1);
      expect(stdout.split("\n").map((line) => line.slice(0, 60))).toEqual([
        "✓ m1 nothing new: its orders exist already (o1)",
        "✗ m2 is left as it is: the text of m2 was pruned by retentio",
        "✓ m3 nothing new: its orders exist already (o3)",
        "",
      ]);
    });
  });

  it("can't replay what retention has pruned, and then replays none of the others", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query("update messages set raw = null, csv_rows = null where id = 2");
      const { status, stderr } = await cli(["messages", "replay", "m1", "m2", "--yes"]);
      expect(status).toBe(1);
      expect(stderr).toContain("the text of m2 was pruned");
      expect((await pool.query("select 1 from messages")).rowCount).toBe(2);
    });
  });
});
