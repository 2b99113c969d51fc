import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { machineHas } from "../support/needs.ts";
import { withFolder } from "../support/with-folder.ts";
import { hl7Text } from "./with-lab.ts";

const CHILD = join(import.meta.dirname, "given-files-child.ts");

const config = (service = "", connector = "") => `
service: { baseUrl: "https://storage.example.org", auth: { apiToken: "\${TOKEN}" }${service} }
facilities: { NORTH: 12 }
connectors:
  - { name: lims, type: hl7-drop, directory: ./lims }
${connector}`;
const MLLP = (cert: string) =>
  `  - { name: net, type: mllp, listen: { port: 0, tls: { cert: ${cert}, key: ./x } }, results: { directory: ./net } }\n`;

/** Each way in which a file is named: the command and the configuration `c` for it, the file being `x`. */
const WAYS: Readonly<
  Record<string, readonly [readonly string[], string?, Readonly<Record<string, string>>?]>
> = {
  "the configuration": [["check", "--offline", "--config", "x"]],
  "a profile of profilesDir": [["check", "--offline", "--config", "c"], `${config()}profilesDir: ./own\n`],
  "the module of a profile": [
    ["check", "--offline", "--config", "c"],
    `${config()}profiles: { own: { extends: builtin/hl7-orders, module: ./x } }\n`,
  ],
  "the file of a secret": [["check", "--offline", "--config", "c"], config(), { TOKEN: "", TOKEN_FILE: "x" }],
  "the service's certificate authority": [["check", "--offline", "--config", "c"], config(", ca: ./x")],
  "the mail server's certificate authority": [
    ["check", "--offline", "--config", "c"],
    `${config()}alerts: { to: [{ type: email, host: mail.example.org, from: a@example.org, to: [b@example.org], ca: ./x }] }\n`,
  ],
  "a connector's certificate": [["check", "--offline", "--config", "c"], config("", MLLP("./x"))],
  "a file to preview": [["preview", "x", "--connector", "lims", "--config", "c"], config()],
  "faults of the simulator": [["simulator", "--faults", "x"]],
  "an HL7 file to show": [["hl7", "show", "x"]],
  "an HL7 file to send": [["hl7", "send", "x", "--to", "127.0.0.1:1"]],
  "a certificate authority of hl7 send": [
    ["hl7", "send", "good", "--to", "127.0.0.1:1", "--tls", "--ca", "x"],
  ],
};

interface End {
  readonly way: string;
  readonly status: number;
  readonly text: string;
}

/**
 * Runs the commands of these ways in a process of their own, one after the other, for so long that only one that waits for
 * something doesn't end: that one has no end.
 */
function run(folder: string, ways: readonly string[] = Object.keys(WAYS)): End[] {
  writeFileSync(join(folder, "good"), hl7Text());
  mkdirSync(join(folder, "own"));
  symlinkSync("../x", join(folder, "own/x.yaml"));
  const commands = ways.map((way, n) => {
    const [argv, text, env] = WAYS[way] ?? [[]];
    if (text !== undefined) writeFileSync(join(folder, `c${n}`), text);
    return JSON.stringify({
      argv: argv.map((word) => (word === "c" ? `c${n}` : word)),
      env: { TOKEN: "t", ...env },
    });
  });
  const { stdout } = spawnSync(process.execPath, [CHILD, ...commands], {
    cwd: folder,
    timeout: 150_000,
    encoding: "utf8",
  });
  const ends = stdout.trim().split("\n");
  return ends.filter(Boolean).map((line, n) => ({ way: ways[n] ?? "", ...JSON.parse(line) }));
}

const refused = (text: RegExp) =>
  Object.keys(WAYS).map((way) => ({
    way,
    status: expect.toSatisfy((status: number) => status > 0),
    text: expect.stringMatching(text),
  }));

describe.runIf(machineHas("linux"))("a file that the program is given, in whichever way", () => {
  it("is refused at once when it is a named pipe", () =>
    withFolder(async (folder) => {
      execFileSync("mkfifo", [join(folder, "x")]);
      expect(run(folder)).toEqual(
        refused(/x\b.*: this is a pipe; write its content to a file, and name that/),
      );
    }));

  it("is refused at once when it is a device", () =>
    withFolder(async (folder) => {
      symlinkSync("/dev/zero", join(folder, "x"));
      expect(run(folder)).toEqual(refused(/x\b.*: this is no regular file; name a file/));
    }));

  it("is refused unread when it is far too large", () =>
    withFolder(async (folder) => {
      writeFileSync(join(folder, "x"), "");
      truncateSync(join(folder, "x"), 2 ** 40);
      expect(run(folder)).toEqual(
        refused(
          /x\b.* (?:has more than \d+ bytes, which is too large|has 1099511627776 bytes; the connector takes at most)/,
        ),
      );
    }));

  it("is refused in words when it is a socket", () =>
    withFolder(async (folder) => {
      const server = createServer().listen(join(folder, "x"));
      expect(run(folder, ["the configuration"])[0]?.text).toContain("x:1:1: this is a socket, not a file");
      await new Promise((resolve) => server.close(resolve));
    }));

  it("is read through a link, and where the system doesn't say how large it is", () =>
    withFolder(async (folder) => {
      symlinkSync("/proc/self/status", join(folder, "x"));
      expect(run(folder, ["an HL7 file to show"])[0]?.text).toContain("HL7_NO_MSH");
    }));
});
