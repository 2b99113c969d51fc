import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { IncomingMessage } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { adt, omlO33, ormControl } from "../support/lab-messages.ts";
import { at } from "../support/places.ts";
import { type Lab, withLab } from "./with-lab.ts";

function message(text: string): IncomingMessage {
  return {
    ordinal: 1,
    place: at("message 1"),
    raw: phi(Buffer.from(text)),
    content: { kind: "hl7", text: phi(text), encoding: "utf-8" },
  };
}

/** A lab with an order that it has put on hold. */
function withHeld(test: (lab: Lab) => Promise<void>): Promise<void> {
  return withLab(async (lab) => {
    await lab.take("lims", [message(omlO33({ number: "A-1" }))]);
    await lab.take("lims", [message(ormControl("HD", { number: "A-1" }))]);
    await test(lab);
  });
}

describe("an order on hold", () => {
  it("is listed and shown as that, with who wanted it", () =>
    withHeld(async (lab) => {
      expect((await lab.cli(["orders", "list"])).stdout).toContain("received (on hold)");
      const { stdout } = await lab.cli(["orders", "show", "A-1"]);
      expect(stdout).toMatch(/Order control requests\n.*to be put on hold, says connector lims: done/);
      const { stdout: json } = await lab.cli(["orders", "show", "A-1", "--json"]);
      expect(JSON.parse(json).orders[0]).toMatchObject({
        heldAt: expect.any(String),
        orderControls: [{ control: "hold", state: "done" }],
      });
    }));

  it("goes on by orders release, and by no retry", () =>
    withHeld(async (lab) => {
      const retried = await lab.cli(["orders", "retry", "A-1"]);
      expect(retried).toMatchObject({ status: 1 });
      expect(retried.stdout).toContain("it is received and on hold");
      const released = await lab.cli(["orders", "release", "A-1", "--reason", "the ward rang"]);
      expect(released).toMatchObject({ status: 0, stdout: "✓ o1 (A-1) is on hold no more and goes on\n" });
      expect((await lab.cli(["orders", "list"])).stdout).not.toContain("on hold");
      expect((await lab.cli(["orders", "release", "A-1"])).status).toBe(1);
    }));
});

it("two requests that were refused have one hint, since they have one task", () =>
  withLab(async (lab) => {
    await lab.take("lims", [message(omlO33({ number: "A-1" }))]);
    await lab.pool.query("update orders set state = 'submitted', request_id = 7");
    const hold = ormControl("HD", { number: "A-1" });
    await lab.take("lims", [message(hold)]);
    await lab.take("lims", [message(hold.replace("|HD-A-1|", "|HD-A-2|"))]);
    const { stdout } = await lab.cli(["orders", "show", "A-1"]);
    const told = stdout.slice(stdout.indexOf("Order control requests"), stdout.indexOf("For a person to do"));
    expect(told.match(/says connector lims: not possible/g)).toHaveLength(2);
    expect(told.match(/`cryobridge tasks done k1`/g)).toHaveLength(1);
  }));

describe("a parked order on hold", () => {
  it("stays on hold when a person has it tried again, and the command says so", () =>
    withHeld(async (lab) => {
      const failure = "failure_code = 'SUBJECT_UNKNOWN', failure_text = 'no such subject'";
      await lab.pool.query(`update orders set state = 'parked', ${failure}`);
      const retried = await lab.cli(["orders", "retry", "A-1"]);
      expect(retried).toMatchObject({
        status: 0,
        stdout:
          "✓ o1 (A-1) will be tried again once it is released: it stays on hold (`cryobridge orders release o1`)\n",
      });
      expect((await lab.cli(["orders", "list"])).stdout).toContain("received (on hold)");
    }));
});

describe("preview", () => {
  const preview = async (lab: Lab, text: string) => {
    const file = `${lab.folder}/a.hl7`;
    await writeFile(file, text);
    return lab.cli(["preview", file, "--connector", "lims"]);
  };

  it("says what a message wants of an earlier order, and what that is to ask for", () =>
    withLab(async (lab) => {
      const { stdout } = await preview(lab, ormControl("XO", { number: "A-1", labels: ["V-2"] }));
      expect(stdout).toMatch(
        /Wants order A-1 \(LIMS\) changed, as far as that is possible by then\n.*Order A-1 \(LIMS\): STORE/,
      );
      expect(stdout).toMatch(/container {2}V-2/);
      expect((await preview(lab, ormControl("SS", { number: "A-1" }))).stdout).toContain(
        "Asks how order A-1 (LIMS) stands",
      );
    }));

  it.each([
    ["an update", adt("A08", { code: "S-1" }), "UPDATE"],
    ["a merge", adt("A40", { code: "S-2", prior: "S-1" }), "MERGE"],
  ])("shows that %s reads the service and changes nothing there", (_words, text, operation) =>
    withLab(async (lab) => {
      const { stdout } = await preview(lab, text);
      expect(stdout).toContain(`Order without number: ${operation} at NORTH`);
      expect(stdout).toContain("GET /api/subjects");
      expect(stdout).not.toContain("POST");
    }),
  );
});
