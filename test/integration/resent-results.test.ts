import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { systemClock } from "../../src/core/clock.ts";
import { createIntake } from "../../src/jobs/intake/intake.ts";
import { listOrderDeliveries } from "../../src/ledger/operator/views.ts";
import { resendAnswers, resendDelivery } from "../../src/ledger/results/resend.ts";
import { createMapper } from "../../src/mapping/inbound/mapper.ts";
import { hl7Profile } from "../mapping/mapped.ts";
import { eventually } from "../support/eventually.ts";
import { closeFile, openFile, takeFile } from "../support/files.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

test.each([
  ["hl7", "order.hl7", omlO33({ number: "P-1" })],
  ["csv", "order.csv", labCsv([{ number: "P-1" }])],
] as const)("results of %s that the lab lost are in its folder again, to the byte", (connector, name, text) =>
  withSite({}, async (site) => {
    await site.start();
    await site.drop(connector, name, text);
    const [order] = await site.waitForOrders(1);
    const isAllSent = async () => {
      const sent = await listOrderDeliveries(site.pool, order?.id ?? 0);
      const isComplete =
        (await site.pool.query("select 1 from outcomes where not is_composed")).rowCount === 0;
      return isComplete && sent.every(({ state }) => state === "delivered") && sent;
    };
    const sent = await eventually(isAllSent);
    const pathOf = (fileName: string) => join(site.folder, connector, "out", fileName);
    const bytes = await Promise.all(sent.map(({ fileName }) => readFile(pathOf(fileName))));
    for (const { fileName } of sent) await rm(pathOf(fileName));
    for (const { deliveryId } of sent) {
      expect(await resendDelivery(site.pool, Number(deliveryId.slice(1)), { actor: "grace" })).toBe(true);
    }
    await eventually(isAllSent);
    expect(await Promise.all(sent.map(({ fileName }) => readFile(pathOf(fileName))))).toEqual(bytes);
  }),
);

test.each([
  ["hl7", "order.hl7", omlO33({ number: "P-1" })],
  ["csv", "order.csv", labCsv([{ number: "P-1" }])],
] as const)(
  "a file of %s that comes again gets its answers again where the site wants that",
  (connector, name, text) =>
    withSite({}, async (site) => {
      const config = parse(await readFile(site.configFile, "utf8"));
      for (const each of config.connectors) each.repeatedFiles = "answer";
      await writeFile(site.configFile, stringify(config));
      await site.start();
      await site.drop(connector, name, text);
      await site.waitForOrders(1);
      const listSent = async () =>
        (
          await site.pool.query<{ name: string; kinds: string[] }>(
            "select d.file_name as name, array_agg(t.kind) as kinds from deliveries d join outcomes t on t.delivery_id = d.id where d.state = 'delivered' group by d.id order by d.id",
          )
        ).rows;
      await eventually(async () => {
        const { rowCount } = await site.pool.query(
          "select 1 from outcomes t left join deliveries d on d.id = t.delivery_id where not t.is_composed or d.state <> 'delivered'",
        );
        return rowCount === 0;
      });
      const sent = await listSent();
      const pathOf = (fileName: string) => join(site.folder, connector, "out", fileName);
      const answers = sent.filter(({ kinds }) => kinds.some((kind) => kind !== "changed"));
      expect(answers).toHaveLength(1);
      const bytes = await readFile(pathOf(answers[0]?.name ?? ""));
      for (const each of sent) await rm(pathOf(each.name));
      await site.drop(connector, `again-${name}`, text);
      await eventually(async () => (await site.results(connector)).size > 0);
      await eventually(async () => (await listSent()).length === sent.length);
      expect([...(await site.results(connector)).keys()]).toEqual([answers[0]?.name]);
      expect(await readFile(pathOf(answers[0]?.name ?? ""))).toEqual(bytes);
      expect(await site.orders()).toHaveLength(1);
    }),
);

test("the response to a file's batch is sent again with the file", () =>
  withLedger(async ({ pool }) => {
    const file = { connector: "lims", fileName: "day.hl7", sha256: "ab".repeat(32), sizeBytes: 1 };
    const first = await openFile(pool, file);
    const named = (name: string, id: number) => `${name}_CH${id}`;
    const name = named("day.hl7", Number(first.fileId.slice(1)));
    await closeFile(
      pool,
      first.fileId,
      { status: "taken", problems: [] },
      {
        ...{ connector: "lims", fileName: name, bytes: Buffer.from("BHS") },
      },
    );
    const again = await openFile(pool, { ...file, fileName: "day-2.hl7" });
    const repeat = () => resendAnswers(pool, Number(again.fileId.slice(1)), "lims", named);
    // It goes out by itself as yet.
    expect(await repeat()).toBe(0);
    await pool.query("update deliveries set state = 'delivered'");
    expect(await repeat()).toBe(1);
    const { rows } = await pool.query("select actor, action, detail from audit");
    expect(rows).toEqual([
      {
        actor: "connector lims",
        action: "resend",
        detail: { reason: `${first.fileId} came again as ${again.fileId}` },
      },
    ]);
  }));

test("so is one whose name has the ending that the profile wants", () =>
  withLedger(async ({ pool }) => {
    const instanceCode = "ABC123";
    const profile = await hl7Profile({ results: { suffix: ".txt" } });
    const intake = createIntake({
      ...{ pool, worker: { id: 1, isSure: true }, clock: systemClock, logger: silent, onCommitted: () => {} },
      rules: () => ({
        instanceCode,
        byConnector: new Map([
          [
            "lims",
            {
              mapper: createMapper(profile, { facilityIdByCode: new Map() }),
              batches: { profile, response: "all" },
              answersRepeats: true,
            },
          ],
        ]),
      }),
    });
    const file = { connector: "lims", fileName: "day.hl7", sha256: "ab".repeat(32), sizeBytes: 1 };
    const { end } = await takeFile(pool, intake, file, []);
    const batch = { batches: [{ header: "BHS|^~\\&|LIMS|NORTH", messages: 0 }] };
    await end({ end: { status: "taken", problems: [] }, batch });
    await pool.query("update deliveries set state = 'delivered'");
    await takeFile(pool, intake, file, []);
    const { rows } = await pool.query("select file_name, state from deliveries");
    expect(rows).toEqual([
      { file_name: expect.stringMatching(/^day\.hl7_CHABC123\w+\.txt$/), state: "pending" },
    ]);
  }));
