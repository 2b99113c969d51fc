import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type Hl7MessageEvent, Hl7Server } from "@medplum/hl7";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const profilesDir = join(import.meta.dirname, "../../config/profiles");
const times = { stableFor: "50ms", scanInterval: "500ms" };

/** What the ledger has of each order. */
async function ordersOf(site: Site) {
  const { rows } = await site.pool.query(
    `select o.placer_order_number as number, o.operation, o.facility_code as facility, o.subject_code as subject, o.state,
       (select array_agg(c.label || ': ' || c.description order by c.label) from order_containers c where c.order_id = o.id) as containers
     from orders o order by o.id`,
  );
  return rows;
}

const lineOf = (text: string, name: string) => text.split("\r").find((line) => line.startsWith(name)) ?? "";

describe("a lab with ORM^O01 in text files, by the example profile accession-orm", () => {
  const connectors = [
    { name: "hl7", type: "hl7-drop", directory: "hl7", profile: "accession-orm", marker: ".ok", ...times },
  ];
  const order = (accession: string, operation: string, obx: readonly string[]) =>
    [
      `MSH|^~\\&|LABSYS|KLINIK|CRYO|BANK|20261120101500||ORM^O01|A${accession}${operation}|P|2.4||||||8859/1`,
      "PID|1|70031^^^LABSYS||||Müller^Jürgen||19800512|M".replace("||||", "|||"),
      `ORC|NW||${accession}^LABSYS||||||20261120101500||||||||IVF-N^Kinderwunsch Nord`,
      `OBR|1||${accession}^LABSYS|${operation}^Kryo^L`,
      ...obx,
      "",
    ].join("\r");
  const straws = [
    "OBX|1|NM|VOL^Volume||2.5|mL",
    "OBX|2|ST|STRAW^Straw||S-1^Sperma",
    "OBX|3|ST|STRAW^Straw||S-2^Sperma",
  ];

  async function drop(site: Site, name: string, text: string): Promise<void> {
    await site.drop("hl7", name, Buffer.from(text, "latin1"));
    await site.drop("hl7", `${name}.ok`, "");
  }

  test("stores and thaws, and reads its results under its own accession number and in its own character set", () =>
    withSite({ config: { profilesDir, connectors } }, async (site) => {
      await site.start();
      await drop(site, "auftrag-1.txt", order("26-0815", "FRZ", straws));
      await site.waitForOrders(1);
      await drop(site, "auftrag-2.txt", order("26-0816", "thw", [straws[1] ?? ""]));
      await site.waitForOrders(2);
      const common = { facility: "NORTH", subject: "70031", state: "completed" };
      expect(await ordersOf(site)).toEqual([
        { ...common, number: "26-0815", operation: "STORE", containers: ["S-1: Sperma", "S-2: Sperma"] },
        { ...common, number: "26-0816", operation: "RETRIEVAL", containers: ["S-1: Sperma"] },
      ]);
      const results = await eventually(async () => {
        const found = [...(await site.results("hl7")).values()].filter((text) =>
          lineOf(text, "ORC|").includes("|CM|"),
        );
        return found.length === 2 ? found : undefined;
      });
      for (const text of results) {
        expect(lineOf(text, "MSH|")).toContain("|8859/1");
        expect(lineOf(text, "ORC|").split("|")[3]).toMatch(/^26-081[56]\^LABSYS$/);
      }
      expect(await readdir(join(site.folder, "hl7/in"))).toEqual([]);
    }));

  test("is answered with the place of what is wrong, and nothing of the message is taken", () =>
    withSite({ config: { profilesDir, connectors } }, async (site) => {
      await site.start();
      const wrong = [straws[0] ?? "", straws[1] ?? "", "OBX|3|ST|STRAW^Straw||^Sperma"];
      await drop(site, "auftrag-3.txt", order("26-0817", "FRZ", wrong));
      const report = await eventually(async () => {
        const names = await readdir(join(site.folder, "hl7/error"), { recursive: true }).catch(() => []);
        return names.find((name) => name.endsWith(".error.txt"));
      });
      expect(report).toContain("auftrag-3.txt");
      const answers = await eventually(async () => {
        const found = [...(await site.results("hl7")).values()];
        return found.length === 1 ? found : undefined;
      });
      expect(answers.join()).toContain("OBX[3]-5.1");
      expect(await ordersOf(site)).toEqual([]);
    }));
});

describe("a lab with OML^O21 over MLLP, by the example profile specimen-oml", () => {
  const message = (number: string, operation: string, tubes: readonly string[]) =>
    [
      `MSH|^~\\&|LIS|HOSP|CRYO|BANK|20261120101500||OML^O21^OML_O21|C${number}|P|2.5.1|||AL|NE||UNICODE UTF-8`,
      "PID|1||9911^^^INSURANCE^SS~H-77^^^HOSPITAL^MR||Lindqvist^Åsa||19900214|F",
      `ORC|NW|${number}^LIS||||||||||||||||||||||||Clinic^^^^^^XX^^^0100`.replace(
        /\|{24}Clinic/,
        `${"|".repeat(19)}Clinic`,
      ),
      `OBR|1|${number}^LIS||${operation}^Cryo^L`,
      "SPM|1|SP-1||OOC^Oocytes^L",
      ...tubes.map((tube) => `SAC|||${tube}^LIS`),
      "",
    ].join("\r");

  test("is answered at once, and hears of each tube's place", async () => {
    const heard: string[] = [];
    const server = new Hl7Server((connection) => {
      connection.addEventListener("message", (event: Hl7MessageEvent) => {
        heard.push(event.message.toString());
        connection.send(event.message.buildAck({ ackCode: "AA" }));
      });
    });
    await server.start(0);
    const address = server.server?.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const results = { host: "127.0.0.1", port };
    const connectors = [{ name: "lis", type: "mllp", listen: { port: 0 }, results, profile: "specimen-oml" }];
    try {
      await withSite({ config: { profilesDir, connectors } }, async (site) => {
        const daemon = await site.start();
        const listener = (daemon.connectors[0] as MllpConnector).port ?? 0;
        expect(await exchange(listener, message("C-1", "CRYO-IN", ["T-1", "T-2"]))).toContain("MSA|CA|CC-1");
        await site.waitForOrders(1);
        expect(await ordersOf(site)).toEqual([
          {
            ...{ number: "C-1", operation: "STORE", facility: "NORTH", subject: "H-77", state: "completed" },
            containers: ["T-1: Oocytes", "T-2: Oocytes"],
          },
        ]);
        const stored = await eventually(() => heard.find((text) => /OBR\|.*\|F\b/.test(text)));
        expect(stored).toContain("C-1");
        for (const tube of ["T-1", "T-2"]) expect(stored).toContain(tube);
        const refused = await exchange(listener, message("C-2", "CRYO-IN", ["T-3", ""]));
        expect(refused).toMatch(/MSA\|CE\|CC-2/);
        expect(refused).toContain("ERR||SAC^2^3^1^1|");
      });
    } finally {
      await server.stop({ forceDrainTimeoutMs: 100 });
    }
  });
});

/** Sends one message and gives its acknowledgement. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect({ host: "127.0.0.1", port });
  let answer = "";
  socket.on("data", (data) => {
    answer += data.toString();
  });
  socket.write(`\v${text}\x1c\r`);
  await eventually(() => answer.includes("\x1c"));
  socket.destroy();
  return answer;
}

test("a lab that numbers each OBR below one ORC gets a result for each, and cancels one of them", () => {
  const profiles = {
    obr: { extends: "builtin/hl7-orders", orders: { each: "OBR" }, results: { controlAnswers: "result" } },
  };
  const connectors = [{ name: "hl7", type: "hl7-drop", directory: "hl7", profile: "obr", ...times }];
  const message = (id: string, ...segments: string[]) =>
    [`MSH|^~\\&|LIMS|NORTH|CRYO|BANK|20261120101500||ORM^O01|${id}|P|2.5`, ...segments, ""].join("\r");
  const obr = (n: number) => `OBR|${n}|LAB-${n}||CRYO-STORE|||||||||||SEM&Semen^^STRAW-${n}`;
  return withSite({ config: { profiles, connectors } }, async (site) => {
    await site.start();
    const patient = "PID|1||4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
    await site.drop("hl7", "order.hl7", message("M-1", patient, "ORC|NW|GRP-1", obr(1), obr(2)));
    await site.waitForOrders(2);
    const common = { operation: "STORE", facility: "NORTH", subject: "4711", state: "completed" };
    expect(await ordersOf(site)).toEqual([
      { ...common, number: "LAB-1", containers: ["STRAW-1: Semen"] },
      { ...common, number: "LAB-2", containers: ["STRAW-2: Semen"] },
    ]);
    await site.drop("hl7", "cancel.hl7", message("M-2", patient, "ORC|CA|GRP-1", "OBR|1|LAB-2"));
    const texts = await eventually(async () => {
      const found = [...(await site.results("hl7")).values()].filter((text) => text.includes("|ORU^R01^"));
      return found.length === 3 ? found : undefined;
    });
    const seen = texts.map((text) => lineOf(text, "ORC|").split("|").slice(1, 3).join(" "));
    expect(seen.toSorted()).toEqual(["RE LAB-1", "RE LAB-2", "UC LAB-2"]);
    expect(texts.join()).not.toContain("GRP-1");
  });
});
