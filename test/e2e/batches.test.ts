import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Daemon } from "../../src/app.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { FrameReader } from "../../src/formats/hl7/mllp.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

type Response = "all" | "errors" | "none" | undefined;

const FHS = "FHS|^~\\&|LIMS|NORTH|CRYO|STORE|20261121||||FILE-1";
const BHS = "BHS|^~\\&|LIMS|NORTH|CRYO|STORE|20261121||||BATCH-1";
/** An order in original mode; a birth date without a day makes it wrong. */
const order = (number: string, isWrong = false) => {
  const text = omlO33({ number }).replace(/^((?:[^|]*\|){14})[^|]*\|[^|]*/, "$1|");
  return isWrong ? text.replace(/\|19\d{6}/, "|1985") : text;
};
const batchOf = (messages: readonly string[], count = messages.length) =>
  `${BHS}\r${messages.join("")}BTS|${count}\r`;
const fileOf = (...batches: string[]) => `${FHS}\r${batches.join("")}FTS|${batches.length}\r`;
const linesOf = (text: string, name: string) => text.split("\r").filter((line) => line.startsWith(name));
const codesOf = (text: string) => linesOf(text, "MSA").map((line) => line.split("|")[1]);

const profiles = (batchResponse: Response) => ({
  site: { extends: "builtin/hl7-orders", results: batchResponse === undefined ? {} : { batchResponse } },
});

function withFolderSite(batchResponse: Response, test: (site: Site) => Promise<void>): Promise<void> {
  const times = { stableFor: "50ms", scanInterval: "500ms" };
  const connector = { name: "hl7", type: "hl7-drop", directory: "hl7", profile: "site", ...times };
  return withSite({ config: { profiles: profiles(batchResponse), connectors: [connector] } }, test);
}

/** Waits for the batch response of a file; gives all result files too. */
async function responseTo(site: Site, fileName: string) {
  return eventually(async () => {
    const results = await site.results("hl7").catch(() => new Map<string, string>());
    const found = [...results].find(([name]) => name.startsWith(`${fileName}_CH`));
    return found && { text: found[1], results };
  });
}

/** What `preview` says that a file would be answered with as a whole. */
async function previewed(site: Site, content: string) {
  const file = join(site.folder, "previewed.hl7");
  await writeFile(file, content);
  const argv = ["--config", site.configFile, "--json", "preview", file, "--connector", "hl7", "--show-phi"];
  const { fileAnswer, messages } = JSON.parse((await runCli(argv)).stdout);
  return { fileAnswer, single: messages.map(({ answer }: { answer: unknown }) => answer) };
}

/** Lines without what no preview can know: the time, and our control ids. */
const comparable = (text: string) =>
  text.split(/[\r\n]/).map((line) => {
    const own = line.startsWith("MSH") ? [6, 9] : /^[FB]HS/.test(line) ? [6, 10] : [];
    return line.split("|").map((field, n) => (own.includes(n) ? "" : field));
  });

describe("a preview of a batch", () => {
  const content = fileOf(batchOf([order("A-1"), order("A-2", true)]));

  test.each(["all", "errors"] as const)("shows the batch that a drop folder answers with (%s)", (response) =>
    withFolderSite(response, async (site) => {
      const { fileAnswer, single } = await previewed(site, content);
      expect(single).toEqual([null, null]);
      expect(fileAnswer.fileName).toMatch(/^previewed\.hl7_CH/);
      await site.start();
      await site.drop("hl7", "day.hl7", content);
      const { text } = await responseTo(site, "day.hl7");
      expect(comparable(`${fileAnswer.text}\n`)).toEqual(comparable(text));
    }),
  );

  test("that is refused as a whole shows that answer", () =>
    withFolderSite("all", async (site) => {
      const cut = batchOf([order("A-1")], 2);
      const { fileAnswer } = await previewed(site, cut);
      await site.start();
      await site.drop("hl7", "cut.hl7", cut);
      const { text } = await responseTo(site, "cut.hl7");
      expect(comparable(`${fileAnswer.text}\n`)).toEqual(comparable(text));
    }));

  test("shows single answers where the profile wants those", () =>
    withFolderSite(undefined, async (site) => {
      const { fileAnswer, single } = await previewed(site, content);
      expect(fileAnswer).toBeNull();
      expect(single).toMatchObject([{ kind: "hl7" }, { kind: "hl7" }]);
    }));

  test("shows the frame that a connection answers with", () =>
    withMllpSite(undefined, async (port, site) => {
      const { fileAnswer } = await previewed(site, content);
      expect(fileAnswer.fileName).toBeNull();
      const [answer = ""] = await exchange(port, content);
      expect(comparable(`${fileAnswer.text}\n`)).toEqual(comparable(answer));
    }));

  test("shows what a connection answers to a message outside of any batch", () =>
    withMllpSite(undefined, async (port, site) => {
      const { fileAnswer, single } = await previewed(site, order("A-1"));
      expect(fileAnswer).toBeNull();
      const [answer = ""] = await exchange(port, order("A-1"));
      expect(comparable(`${single[0].text}\n`)).toEqual(comparable(answer));
    }));
});

describe("a batch in a drop file", () => {
  test("is answered by one batch with the answer to each message, and results come one by one", () =>
    withFolderSite("all", async (site) => {
      await site.start();
      await site.drop("hl7", "day.hl7", fileOf(batchOf([order("A-1"), order("A-2", true), order("A-3")])));
      const { text } = await responseTo(site, "day.hl7");
      expect(linesOf(text, "FHS")[0]?.split("|")[11]).toBe("FILE-1");
      expect(linesOf(text, "BHS")[0]?.split("|").slice(2, 6)).toEqual(["CRYO", "STORE", "LIMS", "NORTH"]);
      expect(linesOf(text, "BHS")[0]?.split("|")[11]).toBe("BATCH-1");
      expect(codesOf(text)).toEqual(["AA", "AE", "AA"]);
      expect([linesOf(text, "BTS"), linesOf(text, "FTS")]).toEqual([["BTS|3"], ["FTS|1"]]);
      await site.waitForOrders(2);
      const reported = await eventually(async () => {
        const results = [...(await site.results("hl7")).values()];
        return results.filter((result) => result.includes("|ORU^R01^")).length === 2 ? results : undefined;
      });
      expect(reported).toHaveLength(3);
    }));

  test("is answered by those in error only where the profile wants that", () =>
    withFolderSite("errors", async (site) => {
      await site.start();
      await site.drop("hl7", "good.hl7", batchOf([order("A-1")]));
      const good = await responseTo(site, "good.hl7");
      expect(good.text.split("\r").map((line) => line.slice(0, 3))).toEqual(["BHS", "BTS", ""]);
      await site.drop("hl7", "bad.hl7", batchOf([order("A-2", true), order("A-3")]));
      const bad = await responseTo(site, "bad.hl7");
      expect([codesOf(bad.text), linesOf(bad.text, "BTS")]).toEqual([["AE"], ["BTS|1"]]);
    }));

  test("with a wrong count is refused as a whole, and its response says which count", () =>
    withFolderSite("all", async (site) => {
      await site.start();
      await site.drop("hl7", "cut.hl7", batchOf([order("A-1")], 2));
      const { text } = await responseTo(site, "cut.hl7");
      expect(codesOf(text)).toEqual(["AR"]);
      expect(linesOf(text, "ERR")[0]).toContain("BTS-1 says 2, found 1 messages");
      expect(linesOf(text, "BHS")[0]?.split("|")[11]).toBe("BATCH-1");
      expect(await site.orders()).toEqual([]);
    }));

  test("gets single answers unless the profile says otherwise", () =>
    withFolderSite(undefined, async (site) => {
      await site.start();
      await site.drop("hl7", "day.hl7", batchOf([order("A-1"), order("A-2")]));
      const answers = await eventually(async () => {
        const results = await site.results("hl7").catch(() => new Map<string, string>());
        const found = [...results.values()].filter((text) => text.includes("MSA|AA|"));
        return found.length === 2 ? found : undefined;
      });
      expect(answers.filter((text) => text.startsWith("BHS"))).toEqual([]);
    }));

  test("has one response, although the daemon stops and the file is dropped again", () =>
    withFolderSite("all", async (site) => {
      const daemon = await site.start();
      await site.drop("hl7", "day.hl7", batchOf([order("A-1")]));
      const first = await responseTo(site, "day.hl7");
      await daemon.stop();
      await site.start();
      await site.drop("hl7", "again.hl7", batchOf([order("A-1")]));
      await eventually(async () => {
        const { rows } = await site.pool.query("select status from files order by id");
        return rows.length === 2 && rows[1].status === "duplicate";
      });
      const { rows } = await site.pool.query(
        "select convert_from(bytes, 'UTF8') as text from deliveries where file_name like '%\\_CH%'",
      );
      expect(rows).toEqual([{ text: first.text }]);
    }));

  test("leaves files without batch headers as they were: an answer for each message", () =>
    withFolderSite("all", async (site) => {
      await site.start();
      await site.drop("hl7", "bare.hl7", order("A-1") + order("A-2"));
      await eventually(async () => {
        const results = await site.results("hl7").catch(() => new Map<string, string>());
        return [...results.values()].filter((text) => text.includes("MSA|AA|")).length === 2;
      });
    }));
});

/** Writes one frame and gives the frames that come back until one ends the test's wait. */
async function exchange(port: number, text: string, count = 1): Promise<string[]> {
  const reader = new FrameReader(10_000_000);
  const heard: string[] = [];
  const socket = connect({ host: "127.0.0.1", port });
  socket.on("data", (chunk) => {
    for (const event of reader.push(chunk)) if (event.kind === "frame") heard.push(event.bytes.toString());
  });
  socket.write(`\v${text}\x1c\r`);
  await eventually(() => heard.length >= count);
  // Whatever else would come has come when the answer to a second frame is there.
  socket.write(`\v${order("LAST")}\x1c\r`);
  await eventually(
    () =>
      heard.some((frame) => frame.includes("|ACK^O33^") && frame.startsWith("MSH")) && heard.length > count,
  );
  socket.destroy();
  return heard.slice(0, -1);
}

function withMllpSite(
  batchResponse: Response,
  test: (port: number, site: Site) => Promise<void>,
): Promise<void> {
  const connector = {
    name: "hl7",
    type: "mllp",
    listen: { port: 0 },
    results: { directory: "results" },
    profile: "site",
  };
  return withSite(
    { config: { profiles: profiles(batchResponse), connectors: [connector] } },
    async (site) => {
      const daemon: Daemon = await site.start();
      await test((daemon.connectors[0] as MllpConnector).port ?? 0, site);
    },
  );
}

describe("a batch in an MLLP frame", () => {
  test("is answered by one frame with the answer to each message", () =>
    withMllpSite(undefined, async (port, site) => {
      const [answer = "", ...others] = await exchange(
        port,
        fileOf(batchOf([order("A-1"), order("A-2", true)])),
      );
      expect(others).toEqual([]);
      expect(
        answer
          .split("\r")
          .map((line) => line.slice(0, 3))
          .filter((name) => name !== "ERR"),
      ).toEqual(["FHS", "BHS", "MSH", "MSA", "MSH", "MSA", "BTS", "FTS", ""]);
      expect([codesOf(answer), linesOf(answer, "BTS")]).toEqual([["AA", "AE"], ["BTS|2"]]);
      expect(linesOf(answer, "BHS")[0]?.split("|")[11]).toBe("BATCH-1");
      expect((await site.orders()).map(({ placerOrderNumber }) => placerOrderNumber)).toContain("A-1");
    }));

  test("that comes again is answered by the same bytes, and makes no second order", () =>
    withMllpSite(undefined, async (port, site) => {
      const batch = batchOf([order("A-1"), order("A-2")]);
      const first = await exchange(port, batch);
      expect(await exchange(port, batch)).toEqual(first);
      expect(await site.orders()).toHaveLength(3);
    }));

  test("is answered by those in error only where the profile wants that", () =>
    withMllpSite("errors", async (port) => {
      const [answer = ""] = await exchange(port, batchOf([order("A-1"), order("A-2", true)]));
      expect([codesOf(answer), linesOf(answer, "BTS")]).toEqual([["AE"], ["BTS|1"]]);
    }));

  test("gets a frame for each answer where the profile wants none for the batch", () =>
    withMllpSite("none", async (port) => {
      const answers = await exchange(port, batchOf([order("A-1"), order("A-2")]), 2);
      expect(answers.map(codesOf)).toEqual([["AA"], ["AA"]]);
    }));

  test("with a wrong count is refused as a whole, and kept", () =>
    withMllpSite(undefined, async (port, site) => {
      const [answer = ""] = await exchange(port, batchOf([order("A-1")], 3));
      expect(codesOf(answer)).toEqual(["AR"]);
      expect(linesOf(answer, "ERR")[0]).toContain("BTS-1 says 3, found 1 messages");
      expect(linesOf(answer, "BHS")[0]?.split("|")[11]).toBe("BATCH-1");
      const { rows } = await site.pool.query("select verdict from messages order by id limit 1");
      expect(rows).toEqual([{ verdict: "refused" }]);
      const made = (await site.waitForOrders(1)).map(({ placerOrderNumber }) => placerOrderNumber);
      expect(made).toEqual(["LAST"]);
    }));

  test("without any message is answered by an empty one", () =>
    withMllpSite(undefined, async (port) => {
      const [answer = ""] = await exchange(port, batchOf([]));
      expect(answer.split("\r").map((line) => line.slice(0, 3))).toEqual(["BHS", "BTS", ""]);
      expect(linesOf(answer, "BHS")[0]?.split("|")[11]).toBe("BATCH-1");
    }));
});
