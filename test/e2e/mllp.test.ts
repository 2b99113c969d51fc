import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { Hl7Message as MedplumMessage } from "@medplum/core";
import { Hl7Client, type Hl7MessageEvent, Hl7Server, ReturnAckCategory } from "@medplum/hl7";
import { describe, expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import type { Daemon } from "../../src/app.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** A lab system of another project: takes results, and answers each as a test says. */
interface Lab {
  readonly port: number;
  /** Results in the order in which they came, repeats included. */
  readonly heard: readonly string[];
  /** What MSA-1 is to be; AA unless set. `undefined` answers nothing. */
  answer: (text: string) => "AA" | "AE" | "AR" | undefined;
}

async function withLab(test: (lab: Lab) => Promise<void>): Promise<void> {
  const heard: string[] = [];
  const lab = { port: 0, heard, answer: (_text: string) => "AA" as "AA" | "AE" | "AR" | undefined };
  const server = new Hl7Server((connection) => {
    connection.addEventListener("message", (event: Hl7MessageEvent) => {
      const text = event.message.toString();
      heard.push(text);
      const code = lab.answer(text);
      if (code !== undefined) connection.send(event.message.buildAck({ ackCode: code }));
    });
  });
  await server.start(0);
  const address = server.server?.address();
  lab.port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await test(lab);
  } finally {
    await server.stop({ forceDrainTimeoutMs: 100 });
  }
}

/** A site whose one connector is MLLP both ways. */
function withMllpSite(
  more: Readonly<Record<string, unknown>>,
  test: (site: Site, lab: Lab) => Promise<void>,
): Promise<void> {
  return withLab((lab) =>
    withSite(
      {
        config: {
          connectors: [
            {
              name: "hl7",
              type: "mllp",
              listen: { port: 0 },
              results: { host: "127.0.0.1", port: lab.port },
              ...more,
            },
          ],
        },
      },
      (site) => test(site, lab),
    ),
  );
}

const portOf = (daemon: Daemon) => (daemon.connectors[0] as MllpConnector).port ?? 0;

/** Sends one message as Medplum's client does; gives the answer's text. */
async function send(
  port: number,
  text: string,
  returnAck: ReturnAckCategory = ReturnAckCategory.FIRST,
): Promise<string> {
  const client = new Hl7Client({ host: "127.0.0.1", port });
  try {
    const answer = await client.sendAndWait(MedplumMessage.parse(text), { returnAck, timeoutMs: 60_000 });
    return answer.toString();
  } finally {
    await client.close();
  }
}

/** An order in original mode: MSH-15 and MSH-16 empty. */
const order = (number: string, more: Partial<Parameters<typeof omlO33>[0]> = {}) =>
  asking(omlO33({ number, ...more }), "", "");
/** The same message with another MSH-15 and MSH-16. */
const asking = (text: string, accept: string, application: string) =>
  text.replace(/^((?:[^|]*\|){14})[^|]*\|[^|]*/, `$1${accept}|${application}`);
const msaOf = (text: string) => /MSA\|([^\r]*)/.exec(text)?.[1];

describe("orders over MLLP", () => {
  test.each([
    ["refuse", "AE"],
    ["accept", "AA"],
  ])("whose last segment isn't ended, with unterminated: %s, are answered %s", (unterminated, code) =>
    withMllpSite({ unterminated }, async (site) => {
      const port = portOf(await site.start());
      const answer = await send(port, order("A-1").replace(/\r$/, ""));
      expect(msaOf(answer)?.slice(0, 2)).toBe(code);
      expect(answer.includes("HL7_UNTERMINATED")).toBe(code === "AE");
      expect(msaOf(await send(port, order("A-3")))).toMatch(/^AA\|/);
    }),
  );

  test("of another patient in a text with line feeds are none: the message is refused, with its line", () =>
    withMllpSite({}, async (site) => {
      const port = portOf(await site.start());
      const [, ...other] = order("B-9").trimEnd().split("\r");
      const answer = await send(port, `${order("A-1")}NTE|1||pasted\n${other.join("\n")}\rNTE|2||end\r`);
      expect(msaOf(answer)).toMatch(/^AE\|MSG-A-1/);
      expect(answer).toMatch(/HL7_LINE_ENDS_MIXED.*line \d+ of the message/s);
      const whole = await send(
        port,
        `${order("A-1")}NTE|1||pasted\n${order("B-9").replaceAll("\r", "\n")}\r`,
      );
      expect(msaOf(whole)).toMatch(/^AE\|MSG-A-1/);
      expect(await site.orders()).toEqual([]);
      const { rows } = await site.pool.query("select verdict from messages");
      expect(rows).toEqual([{ verdict: "refused" }, { verdict: "refused" }]);
    }));

  test("in frames without the last carriage return are answered, listed, carried out and counted", () =>
    withMllpSite({}, async (site) => {
      const daemon = await site.start();
      const socket = connect(portOf(daemon), "127.0.0.1");
      try {
        let heard = "";
        socket.on("data", (chunk) => {
          heard += chunk.toString("latin1");
        });
        socket.write(`\x0b${order("A-1")}\x1c`);
        await eventually(() => /MSA\|AA\|MSG-A-1/.test(heard));
        const { rows } = await site.pool.query("select message_control_id, verdict from messages");
        expect(rows).toEqual([{ message_control_id: "MSG-A-1", verdict: "accepted" }]);
        expect((daemon.connectors[0] as MllpConnector).listening).toMatchObject({ frames: 1, looseEnds: 1 });
      } finally {
        socket.destroy();
      }
    }));

  test("are answered once they are in the ledger, carried out, and their results sent to the lab", () =>
    withMllpSite({}, async (site, lab) => {
      const daemon = await site.start();
      const answer = await send(portOf(daemon), order("A-1"));
      expect(msaOf(answer)).toMatch(/^AA\|/);
      const { rows } = await site.pool.query("select message_control_id, verdict from messages");
      expect(rows).toEqual([{ message_control_id: "MSG-A-1", verdict: "accepted" }]);
      await site.waitForOrders(1);
      const results = await eventually(() => {
        const reported = lab.heard.filter((text) => text.includes("ORU^R01"));
        return reported.some((text) => /OBR\|.*\|F\b/.test(text)) ? reported : undefined;
      });
      expect(results.every((text) => text.includes("A-1"))).toBe(true);
      // The answer on the connection was the answer: the lab hears of states only.
      expect(lab.heard.filter((text) => text.includes("MSA|"))).toEqual([]);
    }));

  test("get the same bytes for the same message again, and make no second order", () =>
    withMllpSite({}, async (site) => {
      const daemon = await site.start();
      const first = await send(portOf(daemon), order("A-1"));
      expect(await send(portOf(daemon), order("A-1"))).toBe(first);
      await daemon.stop();
      const next = await site.start();
      expect(await send(portOf(next), order("A-1"))).toBe(first);
      expect(await site.orders()).toHaveLength(1);
    }));

  test("are one order when the same message comes a hundred times at once over eight connections", () =>
    withMllpSite({}, async (site) => {
      const daemon = await site.start();
      const clients = Array.from(
        { length: 8 },
        () => new Hl7Client({ host: "127.0.0.1", port: portOf(daemon) }),
      );
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_, n) => {
          // A client can't wait twice for one control id, so each sends its share one after the other.
          return n < clients.length ? sendMany(clients[n] as Hl7Client, order("A-1"), 12) : [];
        }),
      );
      expect(new Set(answers.flat()).size).toBe(1);
      expect(await site.orders()).toHaveLength(1);
      for (const client of clients) await client.close();
    }));

  test("that are wrong are answered with the place, and kept", () =>
    withMllpSite({}, async (site) => {
      const daemon = await site.start();
      const answer = await send(portOf(daemon), order("A-1").replace(/\|19\d{6}/, "|1985"));
      expect(msaOf(answer)).toMatch(/^AE\|/);
      expect(answer).toMatch(/ERR\|\|PID\^1\^7[^|]*\|102/);
      const { rows } = await site.pool.query("select verdict, peer from messages");
      expect(rows).toEqual([{ verdict: "refused", peer: "127.0.0.1" }]);
    }));

  test.each([
    ["AL", "NE", ReturnAckCategory.FIRST, "CA"],
    ["AL", "AL", ReturnAckCategory.APPLICATION, "AA"],
    ["NE", "AL", ReturnAckCategory.FIRST, "AA"],
  ] as const)(
    "with MSH-15 %s and MSH-16 %s are answered in enhanced mode",
    (accept, application, wait, code) =>
      withMllpSite({}, async (site) => {
        const daemon = await site.start();
        const answer = await send(portOf(daemon), asking(order("A-1"), accept, application), wait);
        expect(msaOf(answer)).toMatch(new RegExp(`^${code}\\|`));
      }),
  );

  test("have their application acknowledgement among the results where the site wants it there", () =>
    withMllpSite({ applicationAck: "results" }, async (site, lab) => {
      const daemon = await site.start();
      const answer = await send(portOf(daemon), asking(order("A-1"), "AL", "AL"));
      expect(msaOf(answer)).toMatch(/^CA\|/);
      await eventually(() => lab.heard.some((text) => /MSA\|AA\|/.test(text) && text.includes("ORL^O34")));
    }));

  test("are answered with the orders echoed where the site wants that", () =>
    withMllpSite({ answers: "order" }, async (site) => {
      const daemon = await site.start();
      const answer = await send(portOf(daemon), order("A-1"));
      expect(answer).toContain("ORL^O34");
      expect(answer).toMatch(/ORC\|OK\|A-1/);
    }));

  test.each([
    ["take", "AA", 2],
    ["refuse", "AE", 1],
  ] as const)(
    "with a control id that was used before are dealt with as configured: %s",
    (reusedControlId, code, count) =>
      withMllpSite({ reusedControlId }, async (site) => {
        const daemon = await site.start();
        await send(portOf(daemon), order("A-1"));
        const controlId = order("A-1").split("|")[9] ?? "";
        const other = order("A-2");
        const answer = await send(portOf(daemon), other.replace(other.split("|")[9] ?? "", controlId));
        expect(msaOf(answer)).toMatch(new RegExp(`^${code}\\|`));
        expect(await site.orders()).toHaveLength(count);
        const { rows } = await site.pool.query(
          "select reuses is not null as is_shown from messages order by id",
        );
        expect(rows[1]).toEqual({ is_shown: true });
      }),
  );

  test("with a control id that another sender behind the same listener used before are nothing special", () =>
    withMllpSite({ reusedControlId: "refuse" }, async (site) => {
      const daemon = await site.start();
      await send(portOf(daemon), order("A-1"));
      const other = order("A-2").replace("|MSG-A-2|", "|MSG-A-1|").replace("|LIMS|", "|OTHER|");
      expect(msaOf(await send(portOf(daemon), other))).toBe("AA|MSG-A-1");
      expect(await site.orders()).toHaveLength(2);
      const { rows } = await site.pool.query("select sender, reuses from messages order by id");
      expect(rows).toEqual([
        { sender: "LIMS^NORTH", reuses: null },
        { sender: "OTHER^NORTH", reuses: null },
      ]);
    }));
});

/** Sends one message so many times over a connection, one after the other. */
async function sendMany(client: Hl7Client, text: string, times: number): Promise<string[]> {
  const answers: string[] = [];
  for (let n = 0; n < times; n += 1) {
    const answer = await client.sendAndWait(MedplumMessage.parse(text), { timeoutMs: 60_000 });
    answers.push(answer.toString());
  }
  return answers;
}

test("what a listener meets is counted in the metrics", () =>
  withMllpSite({}, async (site) => {
    const daemon = await site.start();
    const console = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
    try {
      const socket = connect({ host: "127.0.0.1", port: portOf(daemon) });
      socket.write("GET / HTTP/1.1\r\n\x0bhalf");
      const read = async () => (await fetch(`${console.url}/metrics`)).text();
      await eventually(async () =>
        /cryobridge_mllp_junk_bytes_total\{connector="hl7"\} 14/.test(await read()),
      );
      expect(await read()).toContain('cryobridge_mllp_connections{connector="hl7"} 1');
      socket.destroy();
    } finally {
      await console.close();
    }
  }));

describe("results over MLLP", () => {
  test("are sent again, the same to the byte, until the lab acknowledges them", () =>
    withMllpSite({}, async (site, lab) => {
      lab.answer = () => (lab.heard.length < 3 ? "AE" : "AA");
      const daemon = await site.start();
      await send(portOf(daemon), order("A-1"));
      await site.waitForOrders(1);
      await eventually(() => lab.heard.some((text) => /OBR\|.*\|F\b/.test(text)));
      expect(new Set(lab.heard.slice(0, 3)).size).toBe(1);
    }));

  test("that the lab refuses for good are parked for a person, and the next ones go on", () =>
    withMllpSite({}, async (site, lab) => {
      lab.answer = (text) => (text.includes("A-1") ? "AR" : "AA");
      const daemon = await site.start();
      await send(portOf(daemon), order("A-1"));
      await site.waitForOrders(1);
      await send(portOf(daemon), order("A-2"));
      await site.waitForOrders(2);
      await eventually(() => lab.heard.some((text) => text.includes("A-2") && /OBR\|.*\|F\b/.test(text)));
      // The lab has heard a result before the ledger knows that.
      await eventually(async () => {
        const { rows } = await site.pool.query(
          "select distinct state, failure_code from deliveries order by state",
        );
        expect(rows).toEqual([
          { state: "delivered", failure_code: null },
          { state: "parked", failure_code: "MLLP_RESULT_REFUSED" },
        ]);
        return true;
      });
    }));

  test("are files in a folder where the site wants that", () =>
    withMllpSite({ results: { directory: "results" } }, async (site, lab) => {
      const daemon = await site.start();
      await send(portOf(daemon), order("A-1"));
      await site.waitForOrders(1);
      const names = await eventually(async () => {
        const found = await readdir(join(site.folder, "results"));
        return found.some((name) => name.startsWith("A-1")) ? found : undefined;
      });
      expect(names.find((name) => !name.startsWith("."))).toMatch(/^A-1_CB\w+\.hl7$/);
      expect(lab.heard).toEqual([]);
    }));
});
