import { connect } from "node:net";
import { type Hl7MessageEvent, Hl7Server } from "@medplum/hl7";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

/** Another message for each state, and two fields as the site wants them. */
const profiles = {
  site: {
    extends: "builtin/hl7-orders",
    results: {
      send: ["submitted", "completed"],
      formats: { submitted: "orm", completed: "ssu" },
      fields: { "ORC-21": "{facility}", "OBX[3.1=CRYO-TEXT]-5": "{label} in {storage}" },
    },
  },
};

const lineOf = (text: string | undefined, name: string) =>
  text?.split("\r").find((line) => line.startsWith(name)) ?? "";

/** What the lab hears of one order: the status in an order message, the end with its place in a status update. */
function expectResults(reported: readonly string[], place: (sac: readonly string[]) => void): void {
  const typeOf = (text: string) => text.split("|")[8];
  const [submitted] = reported.filter((text) => typeOf(text) === "ORM^O01^ORM_O01");
  const [completed] = reported.filter((text) => typeOf(text) === "SSU^U03^SSU_U03");
  expect(lineOf(submitted, "ORC").split("|")[21]).toBe("NORTH");
  const sac = lineOf(completed, "SAC").split("|");
  expect([sac[3], sac[8]]).toEqual(["V-A-1", "P^In position^HL70370"]);
  place(sac);
  const words = completed?.split("\r").find((line) => line.includes("|CRYO-TEXT^"));
  expect(words?.split("|")[5]).toBe(`V-A-1 in ${sac[15]?.split("~").at(-2)}`);
}

const hasBoth = (reported: readonly string[]) =>
  ["|ORM^O01^", "|SSU^U03^"].every((type) => reported.some((text) => text.includes(type)));

describe("results in another format for each state", () => {
  test("go to a folder, with cane and canister where the service tells them", () => {
    const times = { stableFor: "50ms", scanInterval: "500ms" };
    const connectors = [{ name: "hl7", type: "hl7-drop", directory: "hl7", profile: "site", ...times }];
    return withSite({ config: { profiles, connectors, service: { surface: "external" } } }, async (site) => {
      await site.start();
      await site.drop("hl7", "order.hl7", omlO33({ number: "A-1" }));
      const reported = await eventually(async () => {
        const results = await site.results("hl7").catch(() => new Map<string, string>());
        return hasBoth([...results.values()]) ? [...results.values()] : undefined;
      });
      expectResults(reported, (sac) => {
        const [cane, canister, , facility] = sac[15]?.split("~") ?? [];
        expect([sac[9], sac[12], facility]).toEqual(["CANE", "CANISTER", "NORTH"]);
        expect([sac[10], sac[13]]).toEqual([cane, canister]);
      });
    });
  });

  test("go to another project's server by MLLP, with the place as text where the service tells no more", async () => {
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
    const connectors = [
      {
        name: "mllp",
        type: "mllp",
        listen: { port: 0 },
        results: { host: "127.0.0.1", port },
        profile: "site",
      },
    ];
    try {
      await withSite({ config: { profiles, connectors } }, async (site) => {
        const daemon = await site.start();
        await sendFrame((daemon.connectors[0] as MllpConnector).port ?? 0, omlO33({ number: "A-1" }));
        await eventually(() => hasBoth(heard));
        expectResults(heard, (sac) => {
          expect(sac.slice(9, 15)).toEqual(["", "", "", "", "", ""]);
          expect(sac[15]).toMatch(/^\^[^~]+~[^~]+~NORTH$/);
        });
      });
    } finally {
      await server.stop({ forceDrainTimeoutMs: 100 });
    }
  });
});

/** Sends one message and waits for its acknowledgement. */
async function sendFrame(port: number, text: string): Promise<void> {
  const socket = connect({ host: "127.0.0.1", port });
  let isAnswered = false;
  socket.on("data", () => {
    isAnswered = true;
  });
  socket.write(`\v${text}\x1c\r`);
  await eventually(() => isAnswered);
  socket.destroy();
}

test("a cancellation is answered by ORU in a folder of a lab that takes nothing else, for want of the order too", () => {
  const times = { stableFor: "50ms", scanInterval: "500ms" };
  const connectors = [{ name: "hl7", type: "hl7-drop", directory: "hl7", profile: "oru", ...times }];
  const oru = {
    extends: "builtin/hl7-orders",
    results: { controlAnswers: "result", send: ["completed", "cancelled"] },
  };
  const cancel = (id: string, number: string) =>
    [`MSH|^~\\&|LIMS|NORTH|CRYO|BANK|20261120101500||ORM^O01|${id}|P|2.5`, `ORC|CA|${number}`, ""].join("\r");
  return withSite({ config: { profiles: { oru }, connectors } }, async (site) => {
    await site.start();
    await site.drop("hl7", "order.hl7", omlO33({ number: "A-1" }));
    const heard = (text: string) =>
      eventually(async () => {
        const results = await site.results("hl7").catch(() => new Map<string, string>());
        return [...results.values()].find((each) => each.includes(text));
      });
    await heard("|A-1");
    await site.drop("hl7", "cancel-1.hl7", cancel("C-1", "A-1"));
    await site.drop("hl7", "cancel-9.hl7", cancel("C-9", "A-9"));
    const [late, unknown] = [await heard("ORC|UC|A-1|"), await heard("ORC|UC|A-9|")];
    for (const text of [late, unknown]) expect(lineOf(text, "MSH")).toContain("|ORU^R01^ORU_R01|");
    expect(lineOf(late, "ORC")).toContain("CANCEL_TOO_LATE");
    expect(lineOf(unknown, "ORC")).toContain("CANCEL_ORDER_UNKNOWN");
    expect(lineOf(unknown, "OBX")).toContain("The order is not cancelled: there is no such order");
    const all = [...(await site.results("hl7")).values()];
    expect(all.filter((text) => /\|OR[RL]\^/.test(text))).toEqual([]);
  });
});
