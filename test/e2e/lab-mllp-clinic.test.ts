import { Hl7Message as MedplumMessage } from "@medplum/core";
import { Hl7Client, type Hl7MessageEvent, Hl7Server } from "@medplum/hl7";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { readLab } from "./example-lab.ts";

const lab = await readLab("mllp-clinic");
const CANCEL = { method: "POST", path: "/api/procedure-requests/{id}/cancel" } as const;
const IDLE: SimulatorOptions = { staff: { auto: false }, device: { auto: false } };

/** The clinic's system, which another project wrote, on both ends. */
interface Clinic {
  readonly site: Site;
  /** Sends a sample over one connection; gives what comes back on it, until there are so many answers. */
  send(sample: string, count: number): Promise<string[]>;
  /** Waits for a message on the port for results. */
  hear(pattern: RegExp): Promise<string>;
}

async function withClinic(simulator: SimulatorOptions, run: (clinic: Clinic) => Promise<void>) {
  const heard: string[] = [];
  const server = new Hl7Server((connection) => {
    connection.addEventListener("message", (event: Hl7MessageEvent) => {
      heard.push(event.message.toString());
      const asksForAccept = event.message.header.getField(15)?.toString() === "AL";
      connection.send(event.message.buildAck({ ackCode: asksForAccept ? "CA" : "AA" }));
    });
  });
  await server.start(0);
  const address = server.server?.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const connector = { listen: { port: 0 }, results: { host: "127.0.0.1", port, acks: "accept" } };
  try {
    const options = { simulator: { cancelRoute: CANCEL, ...simulator }, config: lab.config({ connector }) };
    await withSite(options, async (site) => {
      const daemon = await site.start();
      const listener = (daemon.connectors[0] as MllpConnector).port ?? 0;
      const send = async (sample: string, count: number) => {
        const client = new Hl7Client({ host: "127.0.0.1", port: listener });
        try {
          const connection = await client.connect();
          const answers: string[] = [];
          connection.addEventListener("message", (event: Hl7MessageEvent) => {
            answers.push(event.message.toString());
          });
          connection.send(MedplumMessage.parse((await lab.sample(sample)).toString("utf8")));
          await eventually(() => answers.length >= count, { what: `${count} answers to ${sample}` });
          return answers;
        } finally {
          await client.close();
        }
      };
      const hear = (pattern: RegExp) =>
        eventually(() => heard.find((text) => pattern.test(text)), { what: String(pattern) });
      await run({ site, send, hear });
    });
  } finally {
    await server.stop({ forceDrainTimeoutMs: 100 });
  }
}

const msaOf = (text: string) => /\rMSA\|([^\r]*)/.exec(text)?.[1];
/** What the OBX of a code hold, by container. */
const valuesOf = (text: string, code: string) =>
  text.split("\r").flatMap((line) => (line.includes(`|${code}^`) ? [line.split("|")[5]] : []));

describe("the example lab mllp-clinic", () => {
  test("stores two straws of one order, and reads of each what its own segments say, with its place", () =>
    withClinic({}, async ({ site, send, hear }) => {
      const answers = await send("vitrify-two-straws.hl7", 2);
      expect(answers.map(msaOf)).toEqual(["CA|SC-1001", "AA|SC-1001"]);
      const [order] = await site.waitForOrders(1, ["completed"]);
      expect(order?.containers.map(({ label, description }) => [label, description])).toEqual([
        ["SC-2001-1", "RED"],
        ["SC-2001-2", "BLUE"],
      ]);
      const result = await hear(/\rOBR\|.*\|F\r/);
      expect(result.split("\r")[0]).toContain("|2.5.1|||AL|NE|");
      const [first, second] = order?.containers.map(({ location }) => location) ?? [];
      expect(valuesOf(result, "CRYO-TEXT")).toEqual([
        `SC-2001-1 (RED, D5 4AA): ${first?.storageName}, ${first?.position}`,
        `SC-2001-2 (BLUE, D6 3BB): ${second?.storageName}, ${second?.position}`,
      ]);

      expect((await send("warm-one-straw.hl7", 2)).map(msaOf)).toEqual(["CA|SC-1002", "AA|SC-1002"]);
      await site.waitForOrders(2, ["completed"]);
      const warmed = await hear(/\rOBR\|1\|SC-2002\^.*\|F\r/);
      expect(valuesOf(warmed, "CRYO-CONTAINER")).toEqual(["SC-2001-2"]);
      expect(warmed).not.toMatch(/RED|4AA/);
    }));

  test("refuses a straw without a label by its application acknowledgement, with the place", () =>
    withClinic({}, async ({ site, send }) => {
      const [accept, application] = await send("straw-without-label.hl7", 2);
      expect(msaOf(accept ?? "")).toBe("CA|SC-1004");
      expect(msaOf(application ?? "")).toMatch(/^AE\|SC-1004\|/);
      expect(application).toContain("ERR||ZST^2^2^1|101");
      expect(await site.orders()).toEqual([]);
    }));

  test("cancels an order that nobody has begun, at the service too", () =>
    withClinic(IDLE, async ({ site, send, hear }) => {
      await send("vitrify-two-straws.hl7", 2);
      await site.waitForOrders(1, ["submitted"]);
      expect((await send("cancel.hl7", 2)).map(msaOf)).toEqual(["CA|SC-1003", "AA|SC-1003"]);
      const answer = await hear(/\rMSA\|AA\|SC-1003/);
      expect(answer).toMatch(/\|ORL\^O22\^.*\rORC\|CR\|SC-2001\^EMBRYOLIMS\|/s);
      await site.waitForOrders(1, ["cancelled"]);
      expect(site.simulator.control.requests().map(({ status }) => status)).toEqual(["CANCELLED"]);
    }));

  test("is told that it is too late to cancel an order that is done", () =>
    withClinic({}, async ({ site, send, hear }) => {
      await send("vitrify-two-straws.hl7", 2);
      await site.waitForOrders(1, ["completed"]);
      await send("cancel.hl7", 2);
      const answer = await hear(/\rMSA\|AA\|SC-1003/);
      expect(answer).toMatch(/\rORC\|UC\|SC-2001\^EMBRYOLIMS\|/);
      expect(answer).toContain("CANCEL_TOO_LATE");
      expect((await site.orders()).map(({ state }) => state)).toEqual(["completed"]);
    }));
});
