import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../src/simulator/description.ts";
import { machineHas } from "../support/needs.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

/** Runs the simulator until the test has done with it. */
async function withSimulatorCommand(
  argv: readonly string[],
  test: (started: { url: string }) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const started = Promise.withResolvers<{ url: string }>();
  let stop = () => {};
  const running = runCli(["simulator", "--port", "0", "--json", ...argv], {
    env,
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
  it("shows its address and credentials, and runs until it is asked to stop", async () => {
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

  it("says that its port is taken, and what to name instead", async () => {
    await withSimulatorCommand([], async ({ url }) => {
      const { port } = new URL(url);
      const { status, stderr } = await runCli(["simulator", "--port", port]);
      expect(status).toBe(2);
      expect(stderr).toContain(
        `--port ${port}: another program listens there already; name another port, or 0 for any free one`,
      );
    });
  });

  // Elsewhere the network 127.0.0.0/8 has one address.
  it.runIf(machineHas("linux"))(
    "is reached by this machine alone, unless an address to listen on says otherwise",
    async () => {
      const another = "127.0.0.2";
      const ask = ({ url }: { url: string }) =>
        fetch(`http://${another}:${new URL(url).port}/openapi.json`).then(
          ({ status }) => status,
          () => undefined,
        );
      await withSimulatorCommand([], async (started) => expect(await ask(started)).toBeUndefined());
      await withSimulatorCommand(["--host", "0.0.0.0"], async (started) =>
        expect(await ask(started)).toBe(200),
      );
      const { status, stderr } = await runCli(["simulator", "--port", "0", "--host", "192.0.2.1"]);
      expect(status).toBe(2);
      expect(stderr).toContain("--host 192.0.2.1: it is no address of this machine (EADDRNOTAVAIL)");
    },
  );

  it("takes faults from a YAML file", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "faults.yaml");
      await writeFile(file, "faults:\n  - { path: /api/subjects, status: 503 }\nspeed: 60\n");
      await withSimulatorCommand(["--faults", file], async ({ url }) => {
        expect((await fetch(`${url}/api/subjects`)).status).toBe(503);
      });
    });
  });

  it("refuses files with mistakes before it listens, each with its line, with status 3", async () => {
    await withFolder(async (folder) => {
      const faults = join(folder, "faults.yaml");
      await writeFile(faults, "faults:\n  - path: /api/**\n    stauts: 503\n  - answerAfterMs: soon\n");
      const behaviour = join(folder, "behaviour.yaml");
      await writeFile(behaviour, "behaviour:\n  sort: sideways\n");
      const argv = ["simulator", "--port", "0", "--faults", faults, "--behaviour", behaviour];
      const { status, stderr } = await runCli(argv);
      expect(status).toBe(3);
      expect(stderr).toContain(
        'faults.yaml:3:5 faults[0].stauts: unknown key "stauts"; did you mean "status"?',
      );
      expect(stderr).toMatch(/faults\.yaml:4:20 faults\[1\]\.answerAfterMs: .*duration/);
      expect(stderr).toMatch(/behaviour\.yaml:2:9 behaviour\.sort: expected one of .*"sideways"/);
    });
  });

  it("refuses a file that isn't there, and one that holds something else", async () => {
    await withFolder(async (folder) => {
      const missing = await runCli(["simulator", "--faults", join(folder, "none.yaml")]);
      expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining("there is no such file")]);
      const file = join(folder, "words.yaml");
      await writeFile(file, "just words\n");
      const other = await runCli(["simulator", "--behaviour", file]);
      expect([other.status, other.stderr]).toEqual([3, expect.stringContaining("expected a list of faults")]);
    });
  });

  it("begins as its files say, with the command line above them", async () => {
    await withFolder(async (folder) => {
      const file = join(folder, "service.yaml");
      await writeFile(
        file,
        [
          "speed: 5",
          "organizations:",
          "  - id: 3",
          "    name: Test",
          "    facilities: [{ id: 31, name: Only }]",
          "    clients:",
          "      - clientId: c",
          "        apiToken: t",
          `        clientSecret: $\{SECRET_OF_TEST}`,
          "behaviour: { listEnvelope: items }",
        ].join("\n"),
      );
      const env = { SECRET_OF_TEST: "from-the-environment" };
      await withSimulatorCommand(
        ["--behaviour", file, "--speed", "7"],
        async (started) => {
          expect(started).toMatchObject({ clientId: "c", clientSecret: "from-the-environment" });
          const { url } = started;
          const settings = await (await fetch(`${url}/simulator/settings`)).json();
          expect(settings).toMatchObject({ speed: 7, behaviour: { listEnvelope: "items" } });
          const list = await fetch(`${url}/api/storage`, { headers: { authorization: "Bearer t" } });
          expect(await list.json()).toMatchObject({
            items: [{ name: "Only Tank 1" }, { name: "Only Tank 2" }],
          });
        },
        env,
      );
    });
  });

  it("prints its OpenAPI description, and ends", async () => {
    const { status, stdout } = await runCli(["simulator", "--openapi"]);
    expect([status, JSON.parse(stdout)]).toEqual([0, openApiDocument()]);
  });
});
