import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unsafeSettings } from "../../src/cli/commands/check/database-and-queue.ts";
import { systemClock } from "../../src/core/clock.ts";
import { acquireDaemonLock } from "../../src/ledger/embedded/lock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { withCertificates } from "../connectors/mllp/with-certificates.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, runCli } from "./run-cli.ts";
import { configText, ENV } from "./with-lab.ts";

interface Check {
  readonly subject: string;
  readonly result: string;
  readonly detail: string;
  readonly hint: string | null;
}

async function check(folder: string, text: string, ...more: string[]): Promise<CliResult> {
  const config = join(folder, "c.yaml");
  await writeFile(config, text);
  return runCli(["--config", config, "check", ...more], { env: ENV });
}

function checksOf({ stdout }: CliResult): Check[] {
  return JSON.parse(stdout).checks;
}

describe("check --offline", () => {
  it("has a line for each thing that is right, and makes nothing", async () => {
    await withFolder(async (folder) => {
      const { status, stdout } = await check(
        folder,
        configText("postgres://nobody@127.0.0.1:9/none"),
        "--offline",
      );
      expect(status).toBe(0);
      expect(stdout).toContain("✓ configuration: ");
      expect(stdout).toContain("✓ profile builtin/hl7-orders: for HL7");
      expect(stdout).toContain("✓ profile builtin/csv-orders: for CSV");
      expect(stdout).toMatch(
        /✓ connector lims, folders in, work, archive, error, out of .*hl7: will be made at the start\n/,
      );
      expect(stdout).toContain("is made by the first start");
      expect(stdout).toContain("All is well.");
      expect(stdout).not.toContain("database:");
    });
  });

  it("warns of a disk that is full, as the daemon would", async () => {
    await withFolder(async (folder) => {
      const text = configText(undefined, "alerts: { rules: { diskFilling: { above: 1 } } }");
      const { stdout } = await check(
        folder,
        text.replace("directory: ./hl7", `directory: ./hl7, in: ${import.meta.dirname}`),
        "--offline",
      );
      expect(stdout).toMatch(/^! disk: the disk of \S+ is \d+ % full: \d+ MB are left$/m);
    });
  });

  it("warns of a certificate that ends soon", async () => {
    await withFolder((folder) =>
      withCertificates(async ({ ca }) => {
        await writeFile(join(folder, "ca.pem"), ca);
        const text = configText(undefined).replace(
          "http://127.0.0.1:9",
          "https://127.0.0.1:9\n  ca: ./ca.pem",
        );
        const { status, stdout } = await check(folder, text, "--offline");
        expect(stdout).toMatch(/^! certificate: the certificate \S+ca\.pem ends in 1 day, at /m);
        expect(status).toBe(0);
        // However slow the disk is: for this clock every wait is over at once.
        const clock = { ...systemClock, sleep: async () => undefined };
        const argv = ["--config", join(folder, "c.yaml"), "check", "--offline"];
        const slow = await runCli(argv, { env: ENV, clock });
        expect(slow.stdout).toContain("ca.pem ends in 1 day, at ");
      }),
    );
  });

  it("names the folder in which the embedded database lies, and what keeps a database from starting there", async () => {
    await withFolder(async (folder) => {
      await mkdir(join(folder, "real"));
      await symlink("real", join(folder, "data"));
      const usual = await check(folder, configText(undefined), "--offline");
      expect(usual.stdout).toContain(
        `✓ data folder: ${folder}/data: no daemon is running, database in ${folder}/real/postgres`,
      );
      await symlink("elsewhere", join(folder, "real/postgres"));
      const linked = await check(folder, configText(undefined), "--offline");
      expect(linked.status).toBe(1);
      expect(linked.stdout).toMatch(/✗ data folder: .*data\/postgres is a link to another place/);
    });
  });

  it.runIf(machineHas("root", "linux"))(
    "fails when root's database could not get to the data folder",
    async () => {
      await withFolder(async (folder) => {
        await chmod(folder, 0o700);
        const { status, stdout } = await check(folder, configText(undefined), "--offline");
        expect(status).toBe(1);
        expect(stdout).toMatch(new RegExp(`✗ data folder: .*user \\d+, who may not enter ${folder}`));
        expect(stdout).not.toContain("is made by the first start");
      });
    },
  );

  it("fails when the file beside the data, without which no daemon starts, holds something else", async () => {
    await withFolder(async (folder) => {
      await writeFile(join(folder, "data.epoch"), "something else");
      const { status, stdout } = await check(folder, configText(undefined), "--offline");
      expect(status).toBe(1);
      expect(stdout).toMatch(/✗ epoch file: .*data\.epoch holds something else.*\(LEDGER_EPOCH_UNUSABLE\)/);
    });
  });

  it("warns of a credential in clear text, and is still well", async () => {
    await withFolder(async (folder) => {
      const text = configText(undefined).replace(/apiToken: "[^"]*"/, "apiToken: written-here");
      const { status, stdout } = await check(folder, text, "--offline");
      expect(status).toBe(0);
      expect(stdout).toMatch(/! configuration: .*a credential stands here in clear text/);
      expect(stdout).not.toContain("written-here");
    });
  });

  it("shows all mistakes of the configuration with status 3", async () => {
    await withFolder(async (folder) => {
      const text = `${configText(undefined)}\nlanes: { parkedBlock: true }\nretention: { orders: soon }\n`;
      const { status, stdout } = await check(folder, text, "--offline");
      expect(status).toBe(3);
      expect(stdout).toMatch(/✗ configuration: .*lanes\.parkedBlock/);
      expect(stdout).toMatch(/✗ configuration: .*retention\.orders/);
      expect(stdout.match(/Correct the lines that are named/g)).toHaveLength(1);
    });
  });

  it("warns of a profile that gives a facility which has no id, and is still well", async () => {
    await withFolder(async (folder) => {
      const profiles = `profiles: { ours: { extends: builtin/hl7-orders, facility: { from: PV1-3.4, table: { A: NORTH, B: SOUTH } } } }`;
      const { status, stdout } = await check(folder, configText(undefined, profiles), "--offline");
      expect(status).toBe(0);
      expect(stdout).toContain(
        "! profile ours: facility gives SOUTH, which the section facilities doesn't have (it has NORTH)",
      );
    });
  });

  it("warns of a folder whose lab gets no word of what is refused or waits", async () => {
    await withFolder(async (folder) => {
      const quiet =
        "profiles: { quiet: { extends: builtin/hl7-orders, results: { send: [completed, refused] } } }";
      const text = configText(undefined, quiet).replace(
        "directory: ./hl7",
        "directory: ./hl7, profile: quiet",
      );
      const { status, stdout } = await check(folder, text, "--offline");
      expect(status).toBe(0);
      expect(stdout).toContain(
        "! connector lims: results.send of profile quiet lacks waiting: the lab gets no file about such messages",
      );
      expect(stdout).not.toContain("! connector bench: results.send");
    });
  });

  it("warns of labels and descriptions that are looked for where containers have none", async () => {
    await withFolder(async (folder) => {
      const profiles = `profiles:
  note: { extends: builtin/hl7-orders, containers: { each: "OBX[3.1=VIAL]", label: OBX-5.1, description: NTE-3 } }
  lost: { extends: builtin/hl7-orders, containers: { label: ZVL-2.1 } }
  tube: { extends: builtin/hl7-orders, containers: { each: SPM, label: SAC-3.1, description: { value: Vial } } }
  fine: { extends: builtin/hl7-orders, containers: { each: ZVL, label: ZVL-2.1 } }`;
      const { status, stdout } = await check(folder, configText(undefined, profiles), "--offline");
      expect(status).toBe(0);
      for (const words of [
        "profile lost: containers.label is read from ZVL-2.1, which is never read below an order: containers.each is SAC or SPM or OBX or OBR",
        "profile tube: containers.label is read from SAC-3.1,",
      ])
        expect(stdout).toContain(`! ${words}`);
      expect(stdout.match(/is never read below an order/g)).toHaveLength(2);
    });
  });

  it("asks no lab system with --offline", async () => {
    await withFolder(async (folder) => {
      const text = configText(undefined).replace(
        "{ name: lims, type: hl7-drop, directory: ./hl7 }",
        "{ name: lims, type: mllp, listen: { port: 0 }, results: { host: 127.0.0.1, port: 9 } }",
      );
      const { status, stdout } = await check(folder, text, "--offline");
      expect(status).toBe(0);
      expect(stdout).not.toContain("connector lims, results");
    });
  });

  it("shows with status 3 that answers which senders wait for are never sent", async () => {
    await withFolder(async (folder) => {
      const tell =
        "profiles: { quiet: { extends: builtin/hl7-orders, results: { send: [refused, completed] } } }";
      const text = configText(undefined, tell).replace(
        "{ name: lims, type: hl7-drop, directory: ./hl7 }",
        "{ name: lims, type: mllp, results: { directory: ./out }, profile: quiet, applicationAck: results }",
      );
      const result = await check(folder, text, "--offline", "--json");
      expect(result.status).toBe(3);
      expect(checksOf(result).find(({ subject }) => subject === "connector lims")).toMatchObject({
        result: "failed",
        detail: expect.stringContaining("add acknowledged, waiting to results.send of profile quiet"),
        ...{ who: "it", command: null, stopsIntake: true },
      });
      const open = text.replace("applicationAck: results", "applicationAck: connection");
      const [line] = checksOf(await check(folder, open, "--offline", "--json")).filter(({ subject }) =>
        subject.startsWith("connector lims"),
      );
      expect(line).toMatchObject({ result: "ok", who: null, stopsIntake: false });
    });
  });

  it("shows the mistakes of a profile by its name with status 3, and goes on", async () => {
    await withFolder(async (folder) => {
      const profiles = `profiles: { odd: { extends: builtin/hl7-orders, operation: { from: "PID-3[" } } }`;
      const result = await check(folder, configText(undefined, profiles), "--offline", "--json");
      expect(result.status).toBe(3);
      const lines = checksOf(result);
      expect(lines.filter(({ result: found }) => found === "failed").map(({ subject }) => subject)).toEqual([
        "profile odd",
      ]);
      expect(lines.at(-1)?.subject).toBe("console");
    });
  });

  it("warns of states and operations that the lab's tables have no words for, and is still well", async () => {
    await withFolder(async (folder) => {
      const status =
        "{ received: a, duplicate: b, refused: c, waiting: d, completed: e, rejected: f, cancelled: g, failed: h }";
      const word = (name: string, more: string) =>
        `${name}: { extends: builtin/csv-orders, operation: { from: operation, table: { EIN: STORE, STORNO: CANCEL } }, ${more} }`;
      const lab = word("lab", `results: { words: { status: ${status}, operation: { STORE: ein } } }`);
      const narrow = word(
        "narrow",
        `results: { send: [completed], words: { operation: { STORE: ein } }, columns: [status] }`,
      );
      const hl7 =
        "hl7: { extends: builtin/hl7-orders, results: { send: [completed, failed], words: { status: { completed: { STORE: ok } } } } }";
      const text = configText(undefined, `profiles: { ${lab}, ${narrow}, ${hl7} }`);
      const result = await check(folder, text, "--offline", "--json");
      expect(result.status).toBe(0);
      const warnings = checksOf(result).filter(({ result: found }) => found === "warning");
      expect(warnings.map(({ subject, detail }) => `${subject}: ${detail.split(":")[0]}`)).toEqual([
        "profile lab: results.words.status has no word for parked, discarded, cancel_refused",
        "profile lab: results.words.operation has no word for CANCEL",
        "profile hl7: results.words.status has no word for completed.RETRIEVAL, completed.REGISTER, completed.UPDATE, completed.MERGE, failed",
      ]);
    });
  });

  it("warns of what stands beside reasons in our words, where the lab has its own for these", async () => {
    await withFolder(async (folder) => {
      const table = "SUBJECT_UNKNOWN: unbekannt";
      const csv =
        "line: Zeile, lines: Zeilen, column: Spalte, part: Teil, and: und, or: oder, order: Auftrag";
      const text = configText(
        undefined,
        `profiles: {
          lab: { extends: builtin/csv-orders, results: { reasons: { ${table}, ${csv}, header: Kopf, fileRefused: abgelehnt } } },
          hl7: { extends: builtin/hl7-orders, results: { reasons: { ${table}, part: Teil, and: und, or: oder, file: Datei, order: Auftrag } } },
          words: { extends: builtin/hl7-orders, results: { reasons: { order: Auftrag } } } }`,
      );
      const result = await check(folder, text, "--offline", "--json");
      expect(result.status).toBe(0);
      const warnings = checksOf(result).filter(({ result: found }) => found === "warning");
      const [ofWords, ofReasons] = [" word for ", " words for "].map((kind) =>
        warnings
          .filter(({ detail }) => detail.includes(kind))
          .map(({ subject, detail }) => `${subject}: ${detail.split(":")[0]}`),
      );
      const [lab = "", hl7 = "", ...more] = ofReasons ?? [];
      expect(more).toEqual([]);
      expect(lab).toMatch(
        /^profile lab: results.reasons has no words for .*\bCSV_EMPTY, .*\bSUBJECT_MISMATCH, SUBJECT_NOT_/,
      );
      expect(lab).not.toMatch(/HL7_|MLLP_|MODULE_REFUSED/);
      expect(hl7).toMatch(
        /^profile hl7: results.reasons has no words for .*\bHL7_NO_MSH, .*\bMAPPING_NO_PATIENT, /,
      );
      expect(hl7).not.toMatch(/CSV_|FILE_TOO|MODULE_REFUSED/);
      expect(ofWords).toEqual([
        "profile lab: results.reasons has no word for file, with",
        "profile hl7: results.reasons has no word for message, line, lines, with, to, byte, ofMessage, request, procedure, onHold, otherOrder, otherWaits, repeated, recorded, answerFollows, cancelled, held, released, cancel_refused, hold_refused, release_refused, status_refused, changed, replaced, change_refused, replace_refused, takenOut, noPlace, stored, canister, cane, since",
      ]);
    });
  });

  it("warns of statuses and operations that the transforms of a column don't take, and is still well", async () => {
    await withFolder(async (folder) => {
      const columns = [
        "{ from: status, table: { received: a, duplicate: b, refused: c, waiting: d, erledigt: e }, header: Status }",
        "{ from: [error_code, operation], as: { regex: { match: '^ST(.*)$', replace: '$1' } }, header: Art }",
        "{ from: status, table: { completed: ok }, default: offen, header: Offen }",
        "{ from: position, as: { regex: { match: '^x$', replace: y } }, header: Platz }",
      ];
      const lab = `lab: { extends: builtin/csv-orders, operation: { from: operation, table: { EIN: STORE, AUS: RETRIEVAL } }, results: { send: [acknowledged, refused, waiting, completed, failed], words: { status: { completed: { STORE: erledigt, "*": fertig } } }, columns: [${columns.join(", ")}] } }`;
      const result = await check(
        folder,
        configText(undefined, `profiles: { ${lab} }`),
        "--offline",
        "--json",
      );
      expect(result.status).toBe(0);
      const warnings = checksOf(result).filter(({ detail }) => detail.includes("transforms"));
      expect(warnings.map(({ detail }) => detail.split(":")[0])).toEqual([
        "the transforms of results.columns[0] (Status) don't take completed, failed",
        "the transforms of results.columns[1] (Art) don't take RETRIEVAL",
      ]);
    });
  });

  it("names the tab that separates columns", async () => {
    await withFolder(async (folder) => {
      const tabs = "profiles: { tabs: { extends: builtin/csv-orders, delimiter: tab } }";
      const text = configText(undefined, tabs).replace("./csv }", "./csv, profile: tabs }");
      expect((await check(folder, text, "--offline")).stdout).toContain(
        "CSV settings: delimiter tab, encoding",
      );
    });
  });

  it("names the line of each mistake in a profile, and a file name without its number beside all others", async () => {
    await withFolder(async (folder) => {
      await mkdir(join(folder, "profiles"));
      const profile = join(folder, "profiles/odd.yaml");
      const detailsOf = async (...lines: readonly string[]) => {
        await writeFile(profile, ["extends: builtin/csv-orders", ...lines, ""].join("\n"));
        const found = checksOf(await check(folder, configText(undefined), "--offline", "--json"));
        return found.filter(({ result }) => result === "failed").map(({ detail }) => detail);
      };
      expect(await detailsOf("results:", "  columns:", "    - status", "    - colour")).toEqual([
        expect.stringContaining(`${profile}:5 results.columns[1]: there is no column colour`),
      ]);
      expect(await detailsOf("delimitr: tab", "results:", '  fileName: "{stem}.csv"')).toEqual([
        expect.stringMatching(/odd\.yaml:2:1 delimitr: unknown key/),
        expect.stringMatching(/odd\.yaml:4:13 results\.fileName: expected \{number\} once/),
      ]);
    });
  });

  it("shows with status 3 of character sets that nothing can be read or written in", async () => {
    await withFolder(async (folder) => {
      const profiles = "profiles: { odd: { extends: builtin/hl7-orders, results: { encoding: utf8x } } }";
      const text = configText(undefined, profiles).replace(
        "directory: ./csv",
        "directory: ./csv, encoding: klingon",
      );
      const result = await check(folder, text, "--offline", "--json");
      expect(result.status).toBe(3);
      const failed = checksOf(result).filter((line) => line.result === "failed");
      expect(failed.map(({ subject, detail }) => `${subject}: ${detail}`)).toEqual([
        expect.stringMatching(
          /^profile odd: .*results\.encoding: utf8x is no encoding that Cryobridge knows/,
        ),
      ]);
      const reading = await check(folder, text.replace("utf8x", "utf8"), "--offline", "--json");
      expect(reading.status).toBe(3);
      expect(checksOf(reading).find(({ subject }) => subject === "connector bench")).toMatchObject({
        result: "failed",
        detail: expect.stringContaining("encoding: klingon is no encoding that Cryobridge knows"),
      });
    });
  });

  it("shows a folder that can't be used, with status 1", async () => {
    await withFolder(async (folder) => {
      await mkdir(join(folder, "hl7"));
      await writeFile(join(folder, "hl7", "in"), "a file where a folder should be");
      const { status, stdout } = await check(folder, configText(undefined), "--offline");
      expect(status).toBe(1);
      expect(stdout).toMatch(/✗ connector lims, .*in/);
    });
  });

  it("finds the console's port taken, which is right only while a daemon runs", async () => {
    await withFolder(async (folder) => {
      const server = createServer();
      const port = await new Promise<number>((resolve) => {
        server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port));
      });
      const text = configText(undefined).replace("port: 0", `port: ${port}`);
      const alone = await check(folder, text, "--offline");
      expect(alone.status).toBe(1);
      expect(alone.stdout).toContain(`✗ console: can't listen on 127.0.0.1:${port} (EADDRINUSE)`);
      const release = await acquireDaemonLock(join(folder, "data"), undefined, "console");
      const beside = await check(folder, text, "--offline");
      await release();
      server.close();
      expect(beside.status).toBe(0);
      expect(beside.stdout).toContain("a daemon is running (console)");
    });
  });
});

describe("check", () => {
  it("asks database, queue, token endpoint and service, and changes nothing there", async () => {
    await withDatabase((database) =>
      withFolder(async (folder) => {
        const simulator = await createSimulator({ port: 0 });
        const text = configText(database.url).replace("http://127.0.0.1:9", simulator.url);
        const oauth = text.replace(
          /auth: .*/,
          `auth: { tokenUrl: "${simulator.url}/oauth/token", clientId: cryobridge, clientSecret: simulator-secret }`,
        );
        const result = await check(folder, oauth, "--json");
        const created = [simulator.control.requests(), simulator.control.subjects()];
        await simulator.close();
        const byName = new Map(checksOf(result).map(({ subject, result: found }) => [subject, found]));
        const found = ["database", "queue", "token", "service"].map((name) => byName.get(name));
        expect(found).toEqual(["ok", "ok", "ok", "ok"]);
        expect(created).toEqual([[], []]);
      }),
    );
  });

  it.runIf(machineHas("redis-server"))("finds out that the queue's Redis answers and takes no job", () =>
    withRedis((redis) =>
      withDatabase((database) =>
        withFolder(async (folder) => {
          const text = `${configText(database.url)}\nqueue: { backend: redis, url: "${redis.url}" }\n`;
          const queueOf = async () =>
            checksOf(await check(folder, text, "--json")).find(({ subject }) => subject === "queue");
          expect((await queueOf())?.result).toBe("ok");
          await redis.run("replicaof", "127.0.0.1", 1);
          const refused = await queueOf();
          expect(refused?.result).toBe("failed");
          expect(refused?.detail).toContain("READONLY: it is a replica");
          expect(refused?.hint).toContain("Name the primary in `queue.url`");
        }),
      ),
    ),
  );

  it.runIf(machineHas("redis-server"))(
    "asks Redis before the first start, names its address, and leaves nothing there",
    () =>
      withRedis((redis) =>
        withFolder(async (folder) => {
          const url = redis.url.replace("//", "//lab:geheim@");
          const text = `${configText(undefined)}\nqueue: { backend: redis, url: "${url}" }\n`;
          const queueOf = async () =>
            checksOf(await check(folder, text, "--json")).find(({ subject }) => subject === "queue");
          await redis.run("acl", "setuser", "lab", "on", ">geheim", "~*", "&*", "+@all");
          expect(await queueOf()).toMatchObject({ result: "ok" });
          expect(await redis.run("keys", "*")).toEqual([]);
          await redis.crash();
          const { detail, hint } = (await queueOf()) ?? {};
          expect(detail).toContain(`the job queue's server at 127.0.0.1:${redis.port} can't be reached`);
          expect(detail).not.toContain("geheim");
          expect(hint).toContain("Start that server, or correct `queue.url`");
        }),
      ),
  );

  it("names the settings of a server that would lose commits in a power cut", () => {
    const safe = new Map([
      ["synchronous_commit", "on"],
      ["fsync", "on"],
      ["full_page_writes", "on"],
    ]);
    expect(unsafeSettings(safe)).toEqual([]);
    expect(unsafeSettings(new Map([...safe, ["fsync", "off"], ["synchronous_commit", "local"]]))).toEqual([
      "synchronous_commit",
      "fsync",
    ]);
    expect(unsafeSettings(new Map([...safe, ["synchronous_commit", "remote_apply"]]))).toEqual([]);
  });

  it("ends with status 4 when neither database nor service are there, and says what to do", async () => {
    await withFolder(async (folder) => {
      const result = await check(folder, configText("postgres://nobody:x@127.0.0.1:9/none"), "--json");
      expect(result.status).toBe(4);
      const failed = checksOf(result).filter(({ result: found }) => found === "failed");
      expect(failed.map(({ subject, hint }) => [subject, Boolean(hint)])).toEqual([
        ["database", true],
        ["service", true],
      ]);
    });
  });
});
