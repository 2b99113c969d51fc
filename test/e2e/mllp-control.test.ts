import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import type { Daemon } from "../../src/app.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { adt, omlO33, ormControl } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const IDLE: SimulatorOptions = { staff: { auto: false }, device: { auto: false } };

/** A site that takes orders by MLLP and writes what follows into the folder `results`. */
function withMllp(
  simulator: SimulatorOptions,
  test: (site: Site, daemon: Daemon) => Promise<void>,
): Promise<void> {
  const connector = { name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "./hl7/out" } };
  return withSite({ simulator, config: { connectors: [connector] } }, async (site) =>
    test(site, await site.start()),
  );
}

/** Sends one message and gives what comes back in one frame. */
function send(daemon: Daemon, text: string): Promise<string> {
  const port = (daemon.connectors[0] as MllpConnector).port ?? 0;
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`\x0b${text}\x1c\r`));
    let heard = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      heard += chunk;
      if (!heard.endsWith("\x1c\r")) return;
      socket.destroy();
      resolve(heard.slice(1, -2));
    });
    socket.on("error", reject);
  });
}

const original = (text: string) => text.replace(/\|AL\|NE\|/, "|||");
const results = async (site: Site) => [...(await site.results("hl7").catch(() => new Map())).values()];
const msaOf = (text: string) => /\rMSA\|([^\r]*)/.exec(text)?.[1];

describe.concurrent("what the lab wants of an earlier order over MLLP", () => {
  test("is acknowledged on the connection, and answered once, with the results", () =>
    withMllp(IDLE, async (site, daemon) => {
      await send(daemon, original(omlO33({ number: "A-1" })));
      await site.waitForOrders(1, ["submitted"]);
      const ack = await send(daemon, ormControl("HD", { number: "A-1" }));
      expect(msaOf(ack)).toMatch(/^AA\|HD-A-1/);
      const answer = await eventually(async () =>
        (await results(site)).find((each: string) => each.includes("\rORC|UH|A-1^LIMS|")),
      );
      expect(answer).toMatch(/\|ORR\^O02\^.*\rMSA\|AA\|HD-A-1/);
      expect((await results(site)).filter((each: string) => each.includes("HD-A-1"))).toHaveLength(1);
    }));

  test("gets the same acknowledgement when it is sent again, and its answer once more", () =>
    withMllp(IDLE, async (site, daemon) => {
      const asks = ormControl("SS", { number: "A-9" });
      const first = await send(daemon, asks);
      expect(await send(daemon, asks)).toBe(first);
      const answers = await eventually(async () => {
        const found = (await results(site)).filter((each: string) => each.includes("\rORC|SR|A-9^LIMS|"));
        return found.length === 2 ? found : undefined;
      });
      expect(
        answers.every((each: string) =>
          each.split("\r").some((line) => /^ORC\|SR\|[^|]*\|[^|]*\|[^|]*\|ER/.test(line)),
        ),
      ).toBe(true);
    }));

  test("is refused whole, with the code that refuses it, when the new content is wrong", () =>
    withMllp(IDLE, async (site, daemon) => {
      const ack = await send(daemon, ormControl("XO", { number: "A-1" }));
      expect(msaOf(ack)).toMatch(/^AE\|XO-A-1/);
      expect(await site.orders()).toEqual([]);
    }));
});

describe.concurrent("news about a subject over MLLP", () => {
  test("are acknowledged on the connection; that the service can't take them follows with the results", () =>
    withMllp(IDLE, async (site, daemon) => {
      const ada = { code: "S-1", firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
      site.simulator.control.addSubject({ facilityId: 12, ...ada });
      const ack = await send(daemon, adt("A08", { code: "S-1", lastName: "Married" }));
      expect(msaOf(ack)).toMatch(/^AA\|A08-S-1/);
      await eventually(async () => (await results(site)).find((each: string) => each.includes("\rORC|UX|")));
    }));
});

describe.concurrent("a message that is continued elsewhere", () => {
  test.each([
    ["by its DSC segment, in original mode", "|||", "DSC|more|F\r", "AR"],
    ["by its DSC segment, in enhanced mode", "|AL|NE|", "DSC|more|F\r", "CR"],
  ])("is refused as it is known %s", (_words, modes, dsc, code) =>
    withMllp(IDLE, async (site, daemon) => {
      const text = omlO33({ number: "A-1" }).replace("|AL|NE|", modes) + dsc;
      const ack = await send(daemon, text);
      expect(msaOf(ack)).toMatch(new RegExp(`^${code}\\|MSG-A-1`));
      expect(ack).toMatch(/\rERR\|.*\|207\^[^|]*\|E\|HL7_CONTINUED/);
      expect(await site.orders()).toEqual([]);
    }),
  );

  test("is refused as it is known by its continuation pointer", () =>
    withMllp(IDLE, async (site, daemon) => {
      const text = original(omlO33({ number: "A-1" })).replace("|2.5.1||", "|2.5.1||MORE");
      const ack = await send(daemon, text);
      expect(msaOf(ack)).toMatch(/^AR\|/);
      expect(ack).toContain("HL7_CONTINUED");
      expect(await site.orders()).toEqual([]);
    }));
});

test("an order that is placed again over MLLP after the facility rejected it is answered so once more", () =>
  withMllp({ staff: { auto: true, reviewAfterMs: [1, 5], acceptanceRate: 0 } }, async (site, daemon) => {
    const order = original(omlO33({ number: "A-1" }));
    const rejections = async (count: number) =>
      eventually(async () => {
        const reported = (await results(site)).filter((each: string) => each.includes("\rORC|OC|A-1^LIMS|"));
        return reported.length === count;
      });
    await send(daemon, order);
    await site.waitForOrders(1, ["rejected"]);
    await rejections(1);
    expect(msaOf(await send(daemon, order.replace("|MSG-A-1|", "|AGAIN|")))).toMatch(/^AA\|AGAIN/);
    await rejections(2);
    expect(await site.orders()).toHaveLength(1);
  }));
