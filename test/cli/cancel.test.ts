import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { csvMessage, type Lab, PATIENT, withLab } from "./with-lab.ts";

const SUBMIT = `
update orders
   set state = 'submitted', request_id = 1000 + id
 where placer_order_number = any ($1)`;

const cancel = (lab: Lab, ...words: string[]) => lab.cli(["orders", "cancel", ...words]);

describe("orders cancel", () => {
  it("cancels what nothing has left of, and keeps who did it and why", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      const { status, stdout } = await cancel(lab, "C-1", "--reason", "ordered twice");
      expect({ status, stdout }).toEqual({
        status: 0,
        stdout: "✓ o1 (C-1) is cancelled; it will be reported to the lab\n",
      });
      const { stdout: shown } = await lab.cli(["orders", "show", "o1"]);
      expect(shown).toMatch(/Order o1 \(C-1\): STORE, cancelled/);
      expect(shown).toMatch(/Order control requests\n.*to be cancelled, says .*\(ordered twice\): done/);
      for (const secret of Object.values(PATIENT)) expect(shown).not.toContain(secret);
    });
  });

  it.each([
    ["cancel", "cancelled"],
    ["discard", "discarded"],
  ])("promises the lab no word that its profile does not send: orders %s", async (act, state) => {
    const quiet = "profiles: { quiet: { extends: builtin/csv-orders, results: { send: [completed] } } }";
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      if (act === "discard")
        await lab.pool.query(
          "update orders set state = 'parked', failure_code = 'SUBJECT_MISMATCH', failure_text = 'x'",
        );
      const text = await readFile(lab.configFile, "utf8");
      await writeFile(lab.configFile, text.replace("directory: ./csv", "directory: ./csv, profile: quiet"));
      const { stdout } = await lab.cli(["orders", act, "o1", "--reason", "ordered twice"]);
      expect(stdout).toBe(
        `✓ o1 (C-1) is ${state}; the lab gets no word of it, since results.send of its profile lacks ${state}\n`,
      );
    }, quiet);
  });

  it("does nothing where a profile can't be loaded", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      const text = await readFile(lab.configFile, "utf8");
      const broken = "extends: builtin/csv-orders, module: ./gone.ts";
      await writeFile(lab.configFile, text.replace("extends: builtin/csv-orders", broken));
      expect((await cancel(lab, "o1", "--reason", "ordered twice")).status).not.toBe(0);
      const { rows } = await lab.pool.query("select state from orders");
      expect(rows).toEqual([{ state: "received" }]);
    }, "profiles: { own: { extends: builtin/csv-orders } }");
  });

  it("wants a reason", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      expect((await cancel(lab, "o1")).status).toBe(2);
      expect((await cancel(lab, "o1", "--reason", " ")).status).toBe(2);
    });
  });

  it("says why it can't, with status 1, and does nothing", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await lab.pool.query(SUBMIT, [["C-1"]]);
      const { status, stdout } = await cancel(lab, "o1", "--reason", "ordered twice", "--json");
      expect(status).toBe(1);
      const [result] = JSON.parse(stdout).results;
      expect(result).toMatchObject({ id: "o1", isDone: false });
      expect(result.text).toContain("CANCEL_NOT_OFFERED");
      // Whoever asked is a person and knows it, so nobody else is asked.
      expect((await lab.cli(["tasks"])).stdout).toBe(
        "No task is open. What else needs a person: `cryobridge status`\n",
      );
      const { stdout: shown } = await lab.cli(["orders", "show", "o1", "--json"]);
      expect(JSON.parse(shown).orders[0]).toMatchObject({ state: "submitted", orderControls: [] });
    });
  });

  it("asks before it cancels more than one", async () => {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2)]);
      const argv = ["orders", "cancel", "o1", "o2", "--reason", "ordered twice"];
      expect((await lab.cli(argv, { answer: "n", isTTY: true })).status).toBe(1);
      expect((await lab.cli([...argv, "--yes"])).stdout).toContain("o2 (C-2) is cancelled");
    });
  });

  it("finds nothing under an unknown number", async () => {
    await withLab(async (lab) => {
      expect((await cancel(lab, "C-9", "--reason", "ordered twice")).status).toBe(5);
    });
  });
});

describe("tasks", () => {
  /** The lab cancels an order that is done already: a person has to see to that. */
  async function withTask(test: (lab: Lab) => Promise<void>): Promise<void> {
    await withLab(async (lab) => {
      await lab.take("bench", [csvMessage(1)]);
      await lab.pool.query("update orders set state = 'completed'");
      await lab.take("bench", [csvMessage(2, { order_number: "C-1", operation: "CANCEL" })]);
      await test(lab);
    });
  }

  it("lists what a person has to see to, and why", () =>
    withTask(async (lab) => {
      const { stdout } = await lab.cli(["tasks"]);
      expect(stdout).toMatch(/^k1 +o1 +C-1 +.*was to be cancelled, and was not: the order was completed/m);
      const { tasks } = JSON.parse((await lab.cli(["tasks", "list", "--json"])).stdout);
      expect(tasks).toMatchObject([{ taskId: "k1", orderId: "o1", kind: "cancel", closedAt: null }]);
      const { stdout: shown } = await lab.cli(["orders", "show", "o1"]);
      expect(shown).toContain("For a person to do");
      expect(shown).toContain("not cancelled: the order was completed before it could be cancelled");
      for (const secret of Object.values(PATIENT)) expect(shown).not.toContain(secret);
    }));

  it("are done once", () =>
    withTask(async (lab) => {
      const { status, stdout } = await lab.cli(["tasks", "done", "k1", "--reason", "told the clinic"]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: "✓ k1 is done\n" });
      expect((await lab.cli(["tasks", "done", "k1"])).status).toBe(1);
      expect((await lab.cli(["tasks"])).stdout).toBe(
        "No task is open. What else needs a person: `cryobridge status`\n",
      );
      expect((await lab.cli(["orders", "show", "o1"])).stdout).toContain("has done task k1: told the clinic");
    }));

  it("are named by their id", () =>
    withTask(async (lab) => {
      expect((await lab.cli(["tasks", "done", "o1"])).status).toBe(2);
    }));
});

describe("preview", () => {
  it("says which order a file cancels", async () => {
    await withLab(async (lab) => {
      const { writeFile } = await import("node:fs/promises");
      const file = `${lab.folder}/cancel.csv`;
      await writeFile(file, "order_number,operation\nC-1,CANCEL\n");
      const { status, stdout } = await lab.cli(["preview", file, "--connector", "bench"]);
      expect({ status, stdout }).toMatchObject({ status: 0 });
      expect(stdout).toContain("Wants order C-1 cancelled, as far as that is possible by then");
      const { messages } = JSON.parse(
        (await lab.cli(["preview", file, "--connector", "bench", "--json"])).stdout,
      );
      expect(messages[0].orderControls).toEqual([
        {
          ...{ control: "cancel", placerOrderNumber: "C-1", placerAuthority: null },
          ...{ fillerNumber: null, content: null },
        },
      ]);
    });
  });
});
