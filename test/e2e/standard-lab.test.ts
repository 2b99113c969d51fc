import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { ourReading, type Reading } from "../support/peer-readings.ts";
import {
  buildStandard,
  readStandard,
  type StandardMessage,
  standardReading,
} from "../support/standard-lab.ts";
import { withSite } from "../support/with-daemon.ts";

type Fields = Parameters<typeof buildStandard>[0][number];

/** An order as a lab builds it with hl7-standard, which escapes nothing by itself. */
function order(
  type: readonly string[],
  number: string,
  control: string,
  specimen: readonly Fields[],
): string {
  const header: Fields = [
    "MSH",
    "LIMS",
    "NORTH",
    "CRYO",
    "BANK",
    "20260301101500",
    "",
    type,
    `C-${number}-${control}`,
    "P",
    "2.5.1",
  ];
  return buildStandard([
    [...header, "", "", "", "", "", "UNICODE UTF-8"],
    [
      "PID",
      "1",
      "",
      ["S-1", "", "", "CLINIC", "MR"],
      "",
      ["Žluťoučký \\T\\ Söhne", "Ζωή"],
      "",
      "19900131",
      "F",
    ],
    ["ORC", control, [number, "LIMS"]],
    ["OBR", "1", [number, "LIMS"], "", ["CRYO-STORE", "Cryo storage", "L"]],
    ...specimen,
  ]);
}

const TUBE: readonly Fields[] = [
  ["SPM", "1", "", "", ["OOC", "Oocyte", "L"]],
  ["SAC", "", "", "V-1"],
];
const STRAW: readonly Fields[] = [["OBX", "1", "ST", "CONTAINER", "", "V-1"]];

/** What a lab with these settings gets for an order of each kind, and for its cancellation. */
const LABS = [
  { settings: {}, results: "oru", type: ["OML", "O21"], specimen: TUBE, answer: "ACK", result: "ORU" },
  {
    settings: { answers: "order" },
    results: "orm",
    type: ["OML", "O21"],
    specimen: TUBE,
    answer: "ORL",
    result: "ORM",
  },
  {
    settings: { answers: "order" },
    results: "ssu",
    type: ["ORM", "O01"],
    specimen: STRAW,
    answer: "ORR",
    result: "SSU",
  },
] as const;

const isStored = (line: string) => line.endsWith(": Stored: 1 container");
const kindOf = (message: StandardMessage) => String(message.get("MSH.9.1"));

/** Sends a message in its frame, as it is, and gives the answer's text. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  try {
    socket.write(`\x0b${text}\x1c\r`);
    let heard = "";
    for await (const chunk of socket) {
      heard += chunk;
      if (heard.endsWith("\x1c\r")) break;
    }
    return heard.slice(1, -2);
  } finally {
    socket.destroy();
  }
}

/** As hl7-standard reads it, which is how we read it ourselves. */
function read(text: string): { readonly message: StandardMessage; readonly reading: Reading } {
  const message = readStandard(text);
  const reading = standardReading(message);
  expect(reading).toEqual(ourReading(text));
  return { message, reading };
}

describe("a lab system built on hl7-standard", () => {
  test.each(LABS)(
    "reads $answer and $result for its $type.0",
    ({ settings, results, type, specimen, answer, result }) => {
      const connector = {
        name: "hl7",
        type: "mllp",
        listen: { port: 0 },
        results: { directory: "results" },
        profile: "own",
      };
      const profiles = { own: { extends: "builtin/hl7-orders", results: { format: results } } };
      return withSite({ config: { connectors: [{ ...connector, ...settings }], profiles } }, async (site) => {
        const daemon = await site.start();
        const port = (daemon.connectors[0] as MllpConnector).port ?? 0;
        const send = async (text: string) => read(await exchange(port, text));
        const accepted = await send(order(type, "A-1", "NW", specimen));
        expect([kindOf(accepted.message), accepted.message.get("MSA.1")]).toEqual([answer, "AA"]);
        expect(accepted.message.get("MSA.2")).toBe("C-A-1-NW");
        await site.waitForOrders(1);
        const results = async () => {
          const folder = join(site.folder, "results");
          const names = (await readdir(folder)).filter((name) => name.endsWith(".hl7"));
          return (await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")))).map(read);
        };
        const told = await eventually(async () =>
          (await results()).find(
            ({ message, reading }) => kindOf(message) === result && reading.some(isStored),
          ),
        );
        if (result !== "SSU") expect(told.reading).toContain("PID[1]-5[1].1.1: Žluťoučký & Söhne");
        expect(told.reading.filter((line) => line.endsWith(": V-1"))).not.toEqual([]);
        const heard = await send(order(type, "A-1", "CA", specimen));
        expect([kindOf(heard.message), heard.message.get("MSA.1")]).toEqual([answer, "AA"]);
        // Carried out already, the order can't be cancelled.
        await eventually(async () => (await results()).find(({ message }) => message.get("ORC.1") === "UC"));
      });
    },
  );
});
