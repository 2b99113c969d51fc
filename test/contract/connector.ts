import { describe, expect, test } from "vitest";
import type { Connector } from "../../src/connectors/connector.ts";
import { type JournalIntake, ledgerAway } from "../connectors/journal-intake.ts";
import { eventually } from "../support/eventually.ts";

/** A connector under test and the lab on its other side. */
export interface LabSide {
  readonly intake: JournalIntake;
  /** A connector over the same folder or port; may be called again after the last one was stopped. */
  create(): Connector;
  /** The lab sends one order with that number and leaves it to the connector. */
  send(orderNumber: string): Promise<void>;
  /** Order numbers that the lab still has in its own hands: not acknowledged, not taken away for good. */
  pending(): Promise<string[]>;
  /** Names of the results that the lab has received. */
  received(): Promise<string[]>;
  /** Makes deliveries fail until the returned function is called. */
  breakDelivery(): Promise<() => Promise<void>>;
}

/** What every connector promises, whichever protocol it speaks. `withLab` gives a fresh lab and stops what is left. */
export function describeConnectorContract(
  type: string,
  withLab: (test: (lab: LabSide) => Promise<void>) => Promise<void>,
): void {
  /** Runs with a started connector. */
  const withConnector = (run: (connector: Connector, lab: LabSide) => Promise<void>) =>
    withLab(async (lab) => {
      const connector = lab.create();
      await connector.start();
      try {
        await run(connector, lab);
      } finally {
        await connector.stop();
      }
    });
  const numbersIn = (lab: LabSide) =>
    lab.intake.summary().flatMap((file) => file.messages.map((message) => /PO-\d+/.exec(message.raw)?.[0]));

  describe(`the connector ${type}`, () => {
    test("says what it is, and that nothing is wrong", () =>
      withConnector(async (connector) => {
        expect(connector.type).toBe(type);
        expect(connector.name).not.toBe("");
        expect(connector.trouble).toBeUndefined();
      }));

    test("hands on what the lab sends, once, and then lets the lab off", () =>
      withConnector(async (_connector, lab) => {
        await lab.send("PO-1");
        await lab.send("PO-2");
        await eventually(async () => (await lab.pending()).length === 0);
        expect(numbersIn(lab).sort()).toEqual(["PO-1", "PO-2"]);
      }));

    test("leaves an order in the lab's hands until the ledger has it, and tells the trouble", () =>
      withConnector(async (connector, lab) => {
        lab.intake.failure = ledgerAway();
        await lab.send("PO-1");
        await eventually(() => connector.trouble);
        expect(await lab.pending()).toEqual(["PO-1"]);
        expect(numbersIn(lab)).toEqual([]);
        lab.intake.failure = undefined;
        await eventually(async () => (await lab.pending()).length === 0);
        expect(numbersIn(lab)).toEqual(["PO-1"]);
        await eventually(() => connector.trouble === undefined);
      }));

    test("takes nothing once it is stopped, and takes it after the next start", () =>
      withLab(async (lab) => {
        const first = lab.create();
        await first.start();
        await first.stop();
        await lab.send("PO-1");
        expect(await lab.pending()).toEqual(["PO-1"]);
        const second = lab.create();
        await second.start();
        await eventually(async () => (await lab.pending()).length === 0);
        expect(numbersIn(lab)).toEqual(["PO-1"]);
        await second.stop();
      }));

    test("delivers a result once however often it is asked to", () =>
      withConnector(async (connector, lab) => {
        const file = { fileName: "PO-1_0000000001.txt", bytes: Buffer.from("a result\r") };
        await connector.deliver(file);
        await connector.deliver(file);
        expect(await lab.received()).toEqual([file.fileName]);
      }));

    test("fails a delivery for now, not for good, while the lab is out of reach", () =>
      withConnector(async (connector, lab) => {
        const file = { fileName: "PO-1_0000000001.txt", bytes: Buffer.from("a result\r") };
        const repair = await lab.breakDelivery();
        await expect(connector.deliver(file)).rejects.toMatchObject({ name: "Failure", class: "transient" });
        await repair();
        await connector.deliver(file);
        expect(await lab.received()).toEqual([file.fileName]);
      }));

    test("passes its own check before and after the start", () =>
      withLab(async (lab) => {
        const connector = lab.create();
        const before = await connector.check();
        expect(before.filter(({ level }) => level === "act")).toEqual([]);
        expect(before.length).toBeGreaterThan(0);
        await connector.start();
        expect((await connector.check()).filter(({ level }) => level === "act")).toEqual([]);
        await connector.stop();
      }));
  });
}
