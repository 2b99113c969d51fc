import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

/** Runs the simulator until the test has done with it. */
async function withSimulatorCommand(
  argv: readonly string[],
  test: (started: { url: string }) => Promise<void>,
): Promise<number> {
  const started = Promise.withResolvers<{ url: string }>();
  let stop = () => {};
  const running = runCli(["simulator", "--port", "0", "--json", ...argv], {
    onStop: (listener) => {
      stop = listener;
      return () => {};
    },
    onStdout: (text) => started.resolve(JSON.parse(text)),
  });
  const first = await Promise.race([started.promise, running.then((result) => ({ url: result.stdout }))]);
  await test(first);
  stop();
  return (await running).status;
}

describe("cryobridge simulator", () => {
  it("tells its address and credentials, and runs until it is asked to stop", async () => {
    const status = await withSimulatorCommand([], async (started) => {
      const { url, tokenUrl, clientId, clientSecret } = started as Record<string, string> & { url: string };
      const answer = await fetch(String(tokenUrl), {
        method: "POST",
        body: new URLSearchParams({
          grant_type: "client_credentials",
          client_id: String(clientId),
          client_secret: String(clientSecret),
        }),
      });
      expect(answer.status).toBe(200);
      expect((await fetch(`${url}/api/subjects`)).status).toBe(401);
    });
    expect(status).toBe(0);
  });

  it("takes faults from a YAML file", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "faults.yaml");
      await writeFile(file, "faults:\n  - { path: /api/subjects, status: 503 }\nspeed: 60\n");
      await withSimulatorCommand(["--faults", file], async ({ url }) => {
        expect((await fetch(`${url}/api/subjects`)).status).toBe(503);
      });
    });
  });

  it("refuses a fault file with mistakes before it listens, with status 3", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "faults.yaml");
      await writeFile(file, "faults: [{ pth: /api }]\n");
      const { status, stderr } = await runCli(["simulator", "--port", "0", "--faults", file]);
      expect(status).toBe(3);
      expect(stderr).toContain("pth");
    });
  });
});
