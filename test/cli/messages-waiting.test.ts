import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { csvMessage, hl7Message, type Lab, withLab } from "./with-lab.ts";

async function addCode({ configFile }: Lab, code: string): Promise<void> {
  const text = await readFile(configFile, "utf8");
  await writeFile(configFile, text.replace("NORTH: 12", `NORTH: 12, ${code}: 13`));
}

const west = (n: number, own: Readonly<Record<string, string>> = {}) =>
  csvMessage(n, { facility: "WEST", subject_code: `S-${n}`, ...own });

describe("messages waiting", () => {
  it("lists the codes that messages wait for, how many and since when", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [west(1), west(2), csvMessage(3, { operation: "FREEZE" })]);
      const { status, stdout, stderr } = await cli(["messages", "waiting"]);
      expect(status).toBe(0);
      expect(stdout).toMatch(/a facility +WEST +bench +2 /);
      expect(stdout).toMatch(/an operation +FREEZE +bench +1 /);
      expect(stderr).toContain(
        'bench, the operation "FREEZE":\n  Write a profile, such as profiles/lab.yaml',
      );
      const { waiting } = JSON.parse((await cli(["messages", "waiting", "--json"])).stdout);
      expect(waiting).toHaveLength(2);
      expect(waiting).toContainEqual({
        kind: "facility",
        code: "WEST",
        connector: "bench",
        messages: 2,
        since: expect.any(String),
        hint: expect.stringContaining('Add a line `"WEST": ID` below `facilities`'),
      });
    });
  });

  it("says so when none waits", async () => {
    await withLab(async ({ cli }) => {
      expect((await cli(["messages", "waiting"])).stdout).toBe("No message waits for a code.\n");
    });
  });
});

describe("messages release", () => {
  it("makes orders of what the corrected configuration maps, in the order in which they came", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [west(1), west(2)]);
      await lab.take("lims", [hl7Message(1, { facility: "WEST" })]);
      await lab.take("bench", [csvMessage(4, { facility: "EAST" })]);
      await addCode(lab, "WEST");
      const { status, stdout } = await lab.cli(["messages", "release"]);
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^m1 accepted: o1\nm2 accepted: o2\nm3 accepted: o3\n3 messages mapped again: 3 accepted\.\nStill waiting through bench: 1 for the facility "EAST"\n {2}Add a line `"EAST": ID`/,
      );
      const orders = await lab.pool.query("select placer_order_number as number from orders order by id");
      expect(orders.rows.map(({ number }) => number)).toEqual(["C-1", "C-2", "P-1"]);
      const audit = await lab.pool.query("select action, target from audit");
      expect(audit.rows).toEqual([{ action: "release", target: "messages" }]);
    });
  });

  it("takes one code, and one connector, and refuses a connector that isn't there", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [west(1), west(2, { facility: "EAST" })]);
      await addCode(lab, "WEST: 14, EAST");
      const none = await lab.cli(["messages", "release", "--connector", "lims"]);
      expect(none.stdout).toContain("No message waits through lims for a code.");
      expect(none.status).toBe(0);
      const nowhere = await lab.cli(["messages", "release", "--code", "NOWHERE"]);
      expect(nowhere.stdout).toContain('No message waits for the code "NOWHERE".');
      expect(nowhere.status).toBe(5);
      const { released, waiting } = JSON.parse(
        (await lab.cli(["messages", "release", "--code", "EAST", "--json"])).stdout,
      );
      expect(released).toMatchObject([{ messageId: "m2", verdict: "accepted" }]);
      expect(waiting).toMatchObject([{ code: "WEST" }]);
      expect((await lab.cli(["messages", "release", "--connector", "nobody"])).status).toBe(2);
    });
  });

  it("says with status 1 why none could be released, and names the profile's table that lacks the code", async () => {
    await withLab(async (lab) => {
      const text = await readFile(lab.configFile, "utf8");
      await writeFile(
        lab.configFile,
        `${text.replace("directory: ./csv", "directory: ./csv, profile: own")}
profiles: { own: { extends: builtin/csv-orders, facility: { from: facility, table: { N1: NORTH } } } }
`,
      );
      await lab.take("bench", [csvMessage(1, { facility: "W" })]);
      const { status, stdout } = await lab.cli(["messages", "release", "--code", "W"]);
      expect(stdout).toBe(
        'No message was released: what they wait for is not known to the configuration as it is now.\nStill waiting through bench: 1 for the facility "W"\n  Add a line `"W": NAME` below `facility.table` of profile own (`profiles` of cryobridge.yaml); the code becomes a name of `facilities`. Then `cryobridge reload`; waiting messages are then processed. Or have the lab correct the code and send it again, and discard the message that has it: `cryobridge messages discard ID --reason TEXT`.\n',
      );
      expect(status).toBe(1);
    });
  });

  it("ends with status 1 when a message has another mistake by now", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1, { operation: "FREEZE", order_number: "" })]);
      const text = await readFile(lab.configFile, "utf8");
      await writeFile(
        lab.configFile,
        `${text.replace("directory: ./csv", "directory: ./csv, profile: own")}
profiles: { own: { extends: builtin/csv-orders, operation: { from: operation, table: { FREEZE: STORE } } } }
`,
      );
      const { status, stdout } = await lab.cli(["messages", "release"]);
      expect(status).toBe(1);
      expect(stdout).toMatch(/^m1 refused\n {2}line 2, column order_number: is empty/);
    });
  });
});

describe("messages discard", () => {
  it("says so when the lab gets no word of it", async () => {
    const quiet = "profiles: { quiet: { extends: builtin/csv-orders, results: { send: [completed] } } }";
    await withLab(async (lab) => {
      await lab.take("bench", [west(1)]);
      const text = await readFile(lab.configFile, "utf8");
      await writeFile(lab.configFile, text.replace("directory: ./csv", "directory: ./csv, profile: quiet"));
      const { stdout } = await lab.cli(["messages", "discard", "m1", "--reason", "sent by mistake"]);
      expect(stdout).toMatch(/^✓ m1 is discarded; the lab gets no word of it, since results\.send/);
    }, quiet);
  });

  it("gives a waiting message up with a reason, and lets go what waited for it", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [west(1), csvMessage(2, { subject_code: "S-1" })]);
      const { status, stdout } = await cli(["messages", "discard", "m1", "--reason", "sent by mistake"]);
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: "✓ m1 is discarded; a refusal will be sent to the lab\n",
      });
      const { rows } = await pool.query("select verdict from messages order by id");
      expect(rows.map(({ verdict }) => verdict)).toEqual(["refused", "accepted"]);
      const audit = await pool.query("select action, target, detail from audit");
      expect(audit.rows).toEqual([
        { action: "discard", target: "m1", detail: { reason: "sent by mistake" } },
      ]);
    });
  });

  it("wants a reason, and a message that waits", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1)]);
      expect((await cli(["messages", "discard", "m1"])).status).toBe(2);
      expect((await cli(["messages", "discard", "m1", "--reason", " "])).status).toBe(2);
      const { status, stdout } = await cli(["messages", "discard", "m1", "--reason", "x"]);
      expect({ status, stdout }).toEqual({
        status: 1,
        stdout: "✗ m1 can't be discarded: it doesn't wait (accepted)\n",
      });
    });
  });
});

describe("messages replay", () => {
  it("leaves a message that waits to its release, which would make its orders once more", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [west(1)]);
      const { status, stderr } = await cli(["messages", "replay", "m1"]);
      expect(status).toBe(1);
      expect(stderr).toContain("cryobridge messages release");
      expect((await pool.query("select 1 from messages")).rowCount).toBe(1);
    });
  });
});
