import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Hl7Message } from "@medplum/core";
import { Hl7Client, ReturnAckCategory } from "@medplum/hl7";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { makeTestFolder } from "../support/with-folder.ts";
import { type Stack, startStack } from "./support/stack.ts";

const DAEMONS = ["cryobridge-1", "cryobridge-2"] as const;
const CONSOLES = ["http://127.0.0.1:8088", "http://127.0.0.1:8089"] as const;
/** How long the database's first start takes longer here: a server that only makes it answers meanwhile. */
const SLOW_SECONDS = 12;

// One stack for the file: the tests go on where the one before ended.
describe.runIf(inject("hasEngine"))("the stack of docker-compose.yml", () => {
  let folder: string;
  let stack: Stack;

  beforeAll(async () => {
    folder = await makeTestFolder();
    await writeFile(join(folder, "slow.sh"), `sleep ${SLOW_SECONDS}\n`);
    const source = join(folder, "slow.sh");
    const target = "/docker-entrypoint-initdb.d/a-slow-disk.sh";
    const volumes = [{ type: "bind", source, target, read_only: true }];
    const command = ["simulator", "--host", "0.0.0.0", "--speed", "1200"];
    stack = await startStack(folder, { services: { postgres: { volumes }, simulator: { command } } });
  });
  afterAll(async () => {
    await stack?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  test("starts with a database that takes long to be made, without a daemon that dies of it", async () => {
    for (const daemon of DAEMONS) {
      await stack.waitForHealth(daemon);
      expect(await stack.inspect(daemon, "{{.RestartCount}}")).toBe("0");
    }
  });

  test("builds one image, and runs all of its own containers on it", async () => {
    const images = await stack.docker("images", "--format", "{{.Repository}}:{{.Tag}}");
    expect(
      images.split("\n").filter((name) => name.startsWith("cryobridge") && !/stand-in/.test(name)),
    ).toEqual([stack.image]);
    for (const service of [...DAEMONS, "simulator"])
      expect(await stack.inspect(service, "{{.Config.Image}}")).toBe(stack.image);
  });

  test("publishes both consoles and the simulator's page, and asks for the console's token", async () => {
    for (const url of CONSOLES) {
      expect(await stack.ask(`${url}/readyz`)).toBe(401);
      expect(await stack.ask(`${url}/readyz`, { token: true })).toBe(200);
    }
    expect(await stack.ask("http://127.0.0.1:4711/simulator/state")).toBe(200);
  });

  test("keeps secrets out of images, environments and logs, and asks nobody to close their files", async () => {
    const names = await readdir(join(folder, "secrets"));
    const secrets = await Promise.all(names.map((name) => readFile(join(folder, "secrets", name), "utf8")));
    const logs = await stack.compose("logs", "--no-color");
    const seen = [
      ...(await Promise.all([...DAEMONS, "postgres"].map((service) => stack.inspect(service, "{{json .}}")))),
      await stack.docker("image", "inspect", stack.image),
      await stack.docker("history", "--no-trunc", stack.image),
      logs,
    ].join("\n");
    // The simulator's secret is no secret: it prints it.
    const found = names.filter((name, nth) => name !== "service-secret" && seen.includes(secrets[nth] ?? ""));
    expect(found).toEqual([]);
    expect(logs).not.toContain("chmod");
    const inImage = await stack.docker("run", "--rm", "--entrypoint", "ls", stack.image, "-A", "/app");
    expect(inImage.split("\n").sort()).toEqual(
      [".npmrc", "bin", "config", "node_modules", "package-lock.json", "package.json", "src"].sort(),
    );
  });

  test("gives the daemons a role that owns their database and is no superuser", async () => {
    const sql =
      "select rolsuper, pg_get_userbyid(datdba) from pg_roles, pg_database where rolname = 'cryobridge' and datname = 'cryobridge'";
    const psql = ["exec", "-T", "postgres", "psql", "-U", "postgres", "-d", "cryobridge", "-AtF,", "-c", sql];
    expect(await stack.compose(...psql)).toBe("f,cryobridge");
  });

  test("carries out an order that comes as a file, and one that comes over MLLP to the second daemon", async () => {
    await stack.drop("file.hl7", omlO33({ number: "F-1", labels: ["V-1", "V-2"] }));
    const sender = new Hl7Client({ host: "127.0.0.1", port: 2576 });
    const message = Hl7Message.parse(omlO33({ number: "M-1", subject: "S-2", labels: ["V-3"] }));
    const answer = await sender.sendAndWait(message, {
      returnAck: ReturnAckCategory.FIRST,
      timeoutMs: 60_000,
    });
    await sender.close();
    expect(answer.getSegment("MSA")?.getField(1).toString()).toMatch(/^[AC]A$/);
    expect(await stack.waitForResult("hl7/out", "F-1")).toContain("V-2");
    expect(await stack.waitForResult("mllp", "M-1")).toContain("V-3");
  });

  test("goes on with one daemon when the other is killed, which comes back by itself", async () => {
    // All processes of the container but the first, which then ends: an engine does not restart what it was asked to kill.
    await stack.compose("exec", "-T", "cryobridge-1", "sh", "-c", "kill -9 -1").catch(() => undefined);
    await stack.drop("killed.hl7", omlO33({ number: "K-1", subject: "S-3", labels: ["V-4"] }));
    await stack.waitForResult("hl7/out", "K-1");
    await eventually(async () => (await stack.inspect("cryobridge-1", "{{.RestartCount}}")) === "1");
    await stack.waitForHealth("cryobridge-1");
  });

  test("is unhealthy while PostgreSQL is away, and carries out afterwards what was dropped meanwhile", async () => {
    await stack.compose("kill", "postgres");
    for (const daemon of DAEMONS) await stack.waitForHealth(daemon, "unhealthy");
    await stack.drop("away.hl7", omlO33({ number: "A-1", subject: "S-4", labels: ["V-5"] }));
    await stack.compose("start", "postgres");
    for (const daemon of DAEMONS) await stack.waitForHealth(daemon);
    await stack.waitForResult("hl7/out", "A-1");
  });

  test("is upgraded one daemon after the other, and always takes orders meanwhile", async () => {
    await stack.docker("tag", stack.image, "cryobridge:next");
    await writeFile(join(folder, ".env"), "CRYOBRIDGE_VERSION=next\n");
    let isOver = false;
    const gaps: number[] = [];
    const watching = (async () => {
      while (!isOver) {
        const ready = await Promise.all(CONSOLES.map((url) => stack.ask(`${url}/readyz`, { token: true })));
        if (!ready.includes(200)) gaps.push(Date.now());
      }
    })();
    try {
      for (const daemon of DAEMONS) {
        await stack.compose("up", "--detach", "--no-deps", "--wait", daemon);
        await stack.drop(`${daemon}.hl7`, omlO33({ number: daemon, subject: daemon, labels: [daemon] }));
      }
    } finally {
      isOver = true;
      await watching;
    }
    expect(gaps).toEqual([]);
    for (const daemon of DAEMONS) {
      expect(await stack.inspect(daemon, "{{.Config.Image}}")).toBe("cryobridge:next");
      await stack.waitForResult("hl7/out", daemon);
    }
  });

  test("ends on SIGTERM in good order", async () => {
    await stack.compose("stop", ...DAEMONS);
    for (const daemon of DAEMONS) expect(await stack.inspect(daemon, "{{.State.ExitCode}}")).toBe("0");
  });

  test("does not start where a folder is missing, and does not make it", async () => {
    await rm(join(folder, "site"), { recursive: true });
    await expect(stack.compose("up", "--detach", "--force-recreate", "cryobridge-1")).rejects.toThrow(/site/);
    expect(await readdir(folder)).not.toContain("site");
  });

  test("the image runs the demonstration to its end, without a network", async () => {
    const words = [
      "run",
      "--rm",
      "--network",
      "none",
      stack.image,
      "demo",
      "--exit-when-done",
      "--within",
      "150s",
    ];
    expect(await stack.docker(...words)).toMatch(/results +\d+ files for the labs/);
  });

  test("the image is built with the certificates of build-ca.pem, which it does not keep", async () => {
    const base = join(folder, "base");
    await mkdir(base);
    // An npm that says which certificates it was given.
    const npm = `#!/bin/sh\\nmkdir -p node_modules\\ncp "$NODE_EXTRA_CA_CERTS" node_modules/given.pem\\n`;
    const [, image] =
      /^ARG NODE_IMAGE=(\S+)$/m.exec(await readFile(join(folder, "Dockerfile"), "utf8")) ?? [];
    await writeFile(
      join(base, "Dockerfile"),
      `FROM ${image}\nRUN rm -f /usr/local/bin/npm && printf '${npm}' >/usr/local/bin/npm && chmod 755 /usr/local/bin/npm\n`,
    );
    await writeFile(join(folder, "build-ca.pem"), "a certificate\n");
    await stack.docker("build", "--quiet", "--tag", "cryobridge-test-base", base);
    const argument = "NODE_IMAGE=cryobridge-test-base";
    await stack.docker("build", "--quiet", "--build-arg", argument, "--tag", "cryobridge-test-ca", folder);
    const find = ["run", "--rm", "--entrypoint", "find", "cryobridge-test-ca", "/app", "-name", "*.pem"];
    expect(await stack.docker(...find)).toBe("/app/node_modules/given.pem");
    await stack.docker("rmi", "cryobridge-test-ca", "cryobridge-test-base");
  });
});
