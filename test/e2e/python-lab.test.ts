import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { ourReading, pythonReading } from "../support/peer-readings.ts";
import {
  type PythonHl7,
  type PythonServer,
  type PythonStep,
  withPythonHl7,
} from "../support/python-hl7/python-hl7.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

interface Lab extends PythonHl7 {
  readonly site: Site;
  /** What takes our results. */
  readonly server: PythonServer;
  /** Sends one message as python-hl7 does; gives its answer. */
  send(text: string): Promise<string>;
}

/** A site whose lab system, on both ends, is python-hl7. */
function withPythonLab(plan: readonly PythonStep[], run: (lab: Lab) => Promise<void>): Promise<void> {
  return withPythonHl7(async (python) => {
    const server = await python.listen(plan);
    const results = { host: "127.0.0.1", port: server.port, answerTimeout: "60s" };
    const connector = { name: "hl7", type: "mllp", listen: { port: 0 }, results };
    await withSite({ config: { connectors: [connector] } }, async (site) => {
      const daemon = await site.start();
      const port = (daemon.connectors[0] as MllpConnector).port ?? 0;
      const send = async (text: string) => (await python.exchange(port, text, 1))[0] ?? "";
      await run({ ...python, site, server, send });
    });
  });
}

const heardBy = async (server: PythonServer) => (await server.log()).heard;
const isEnd = ({ text }: { readonly text: string }) => /\rOBR\|.*\|F\r/.test(text);

describe.runIf(machineHas("mllp_send"))("a lab system built on python-hl7", () => {
  test("sends orders, and reads in the results what was written into them", () =>
    withPythonLab([], async ({ send, site, server }) => {
      const labels = ["V\\F\\1\\S\\ \\T\\ Ζωή\\R\\\\E\\"];
      const answer = await send(omlO33({ number: "A-1", lastName: "Žluťoučký \\T\\ Söhne", labels }));
      expect(answer).toMatch(/\rMSA\|CA\|MSG-A-1/);
      await site.waitForOrders(1);
      const end = await eventually(async () => (await heardBy(server)).find(isEnd));
      const read = pythonReading(end.segments);
      expect(read).toEqual(ourReading(end.text));
      expect(read).toContain("PID[1]-5[1].1.1: Žluťoučký & Söhne");
      expect(read.filter((line) => line.endsWith(": V|1^ & Ζωή~\\"))).toHaveLength(1);
    }));

  test("that closes without an answer hears the result again, the same to the byte", () =>
    withPythonLab(
      [
        { codes: [], thenClose: true },
        { codes: ["AA"], thenClose: true },
      ],
      async ({ send, site, server }) => {
        await send(omlO33({ number: "A-1" }));
        await site.waitForOrders(1);
        const isDelivered = async () => {
          const { rows } = await site.pool.query("select distinct state from deliveries");
          return rows.length === 1 && rows[0].state === "delivered";
        };
        await eventually(isDelivered);
        const heard = await heardBy(server);
        expect(heard.map(({ connection }) => connection)).toEqual([1, 2]);
        expect(heard.filter(isEnd)).toHaveLength(2);
        expect(new Set(heard.map(({ text }) => text)).size).toBe(1);
      },
    ));
});
