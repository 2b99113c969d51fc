import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readStandardInput } from "../../src/cli/io.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";
import { configText, ENV, hl7Text, PATIENT } from "./with-lab.ts";

/** Runs a command with this text on standard input, in two pieces. */
function piped(text: string, ...words: string[]) {
  return withFolder(async (folder) => {
    await writeFile(join(folder, "c.yaml"), configText(undefined));
    const bytes = Buffer.from(text);
    const half = bytes.length >> 1;
    return runCli(["--config", join(folder, "c.yaml"), ...words], {
      env: ENV,
      stdin: [bytes.subarray(0, half), bytes.subarray(half)],
    });
  });
}

const io = (...pieces: Buffer[]) => ({
  stdout: { write: () => true },
  stderr: { write: () => true },
  env: {},
  isTTY: false,
  stdin: (async function* () {
    yield* pieces;
  })(),
});

describe("- for a file", () => {
  it("is shown", async () => {
    const { status, stdout } = await piped(hl7Text(), "hl7", "show", "-", "--segment", "ORC");
    expect(status).toBe(0);
    expect(stdout).toContain("ORC-1  NW");
  });

  it("is previewed", async () => {
    const { status, stdout } = await piped(hl7Text(), "preview", "-", "--connector", "lims");
    expect(status).toBe(0);
    expect(stdout).toContain("message 1 (OML^O33, MSG0001): accepted");
    expect(stdout).not.toContain(PATIENT.lastName);
    const refused = await piped(hl7Text().replace("ORC|NW", "ORC|ZZ"), "preview", "-", "--connector", "lims");
    expect(refused.status).toBe(1);
    expect(refused.stdout).toContain("message 1, ORC-1: ");
  });

  it("is sent", async () => {
    const { status, stdout } = await piped(hl7Text(), "hl7", "send", "-", "--to", "127.0.0.1:1");
    expect(status).toBe(4);
    expect(stdout).toContain("message 1 (MSG0001): ");
  });

  it("is named when nothing comes", async () => {
    const { status, stderr } = await piped("", "hl7", "show", "-");
    expect(status).toBe(1);
    expect(stderr).toContain("standard input, file: expected at least one message, found nothing");
  });
});

describe("standard input", () => {
  it("is refused when it has more than the connector takes", async () => {
    const pieces = [Buffer.alloc(600), Buffer.alloc(500)];
    await expect(readStandardInput(io(...pieces), 1_000)).rejects.toMatchObject({
      code: "FILE_TOO_LARGE",
      message: "standard input has more than 1000 bytes, which is what the connector takes at most",
    });
    expect(await readStandardInput(io(...pieces), 1_100)).toHaveLength(1_100);
  });

  it("is refused when it has no end", async () => {
    const piece = Buffer.alloc(16 * 1024 * 1024);
    async function* endless() {
      for (;;) yield piece;
    }
    await expect(readStandardInput({ ...io(), stdin: endless() })).rejects.toMatchObject({
      code: "CLI_USAGE",
      message: "standard input has more than 268435456 bytes; write it to a file, and name that",
    });
  });

  it("is the process's own", () =>
    withFolder(async (folder) => {
      const main = join(import.meta.dirname, "../../src/cli/main.ts");
      const shown = await new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
        const child = execFile(
          process.execPath,
          [main, "hl7", "show", "-"],
          { cwd: folder },
          (error, stdout, stderr) => resolve({ status: error === null ? 0 : error.code, stdout, stderr }),
        );
        child.stdin?.end(hl7Text());
      });
      expect(shown.stderr).toBe("");
      expect(shown).toMatchObject({ status: 0, stdout: expect.stringContaining("control id MSG0001") });
    }));
});
