import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment } from "testcontainers";
import { VERSION } from "../../../src/core/version.ts";
import { eventually } from "../../support/eventually.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../../..");
/** What a clone has that the image is made of and Compose reads. */
const CLONED = [
  ...["bin", "config", "src", "package.json", "package-lock.json", ".npmrc"],
  ...["Dockerfile", ".dockerignore", "docker-compose.yml"],
];
const PROJECT = "cryobridge-test";
const START_WITHIN_MS = 300_000;

/** The stack of `docker-compose.yml` in a folder of its own, as its head says to start it. */
export interface Stack {
  readonly folder: string;
  readonly image: string;
  /** Runs `docker` and gives what it printed. */
  docker(...words: readonly string[]): Promise<string>;
  /** Runs `docker compose` for this stack. */
  compose(...words: readonly string[]): Promise<string>;
  /** What `docker inspect` says of a service's container by a template. */
  inspect(service: string, template: string): Promise<string>;
  /** Waits until a service's container is healthy, or is not. */
  waitForHealth(service: string, health?: "healthy" | "unhealthy"): Promise<void>;
  /** The status with which a page of this machine is answered; `token` gives the console's. */
  ask(url: string, options?: { readonly token?: boolean }): Promise<number | undefined>;
  /** Drops a file with one order into the HL7 connector's folder. */
  drop(name: string, content: string): Promise<void>;
  /** Waits for a result file about an order in a connector's folder below `lims`. */
  waitForResult(folder: string, number: string): Promise<string>;
  remove(): Promise<void>;
}

/**
 * Builds the image and starts the stack with the simulated service.
 *
 * @param further a further Compose file, which is merged into the stack's
 */
export async function startStack(folder: string, further: object): Promise<Stack> {
  for (const name of CLONED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  await run("sh", [join(folder, "config/docker/prepare.sh")]);
  const site = join(folder, "site/cryobridge.yaml");
  const settings = await readFile(site, "utf8");
  await writeFile(site, settings.replace("first: 5s, max: 30s", "first: 1s, max: 2s"));
  // Compose reads YAML, and JSON is that.
  await writeFile(join(folder, "further.yml"), JSON.stringify(further));
  const files = ["docker-compose.yml", "further.yml"];
  const docker = async (...words: readonly string[]) =>
    (await run("docker", [...words], { cwd: folder, maxBuffer: 64 * 1024 * 1024 })).stdout.trim();
  const compose = (...words: readonly string[]) =>
    docker(
      ...["compose", "--project-name", PROJECT, "--profile", "simulator"],
      ...files.flatMap((file) => ["--file", file]),
      ...words,
    );
  // What an aborted run left.
  await compose("down", "--volumes", "--timeout", "0");
  const started: StartedDockerComposeEnvironment = await new DockerComposeEnvironment(folder, files)
    .withProjectName(PROJECT)
    .withProfiles("simulator")
    .withBuild()
    .withStartupTimeout(START_WITHIN_MS)
    .up();
  const inspect = (service: string, template: string) =>
    docker("inspect", "--format", template, `${PROJECT}-${service}-1`);
  const lims = join(folder, "lims");
  return {
    folder,
    image: `cryobridge:${VERSION}`,
    docker,
    compose,
    inspect,
    waitForHealth: async (service, health = "healthy") => {
      await eventually(async () => (await inspect(service, "{{.State.Health.Status}}")) === health, {
        what: `${service} ${health}`,
        withinMs: 120_000,
      });
    },
    ask: async (url, { token = false } = {}) => {
      const secret = await readFile(join(folder, "secrets/console-token"), "utf8");
      const headers = token ? { authorization: `Bearer ${secret}` } : {};
      return await fetch(url, { headers, signal: AbortSignal.timeout(10_000) }).then(
        ({ status }) => status,
        () => undefined,
      );
    },
    drop: async (name, content) => {
      const inbox = join(lims, "hl7/in");
      await writeFile(join(inbox, `${name}.part`), content);
      await run("mv", [join(inbox, `${name}.part`), join(inbox, name)]);
    },
    waitForResult: (place, number) =>
      eventually(
        async () => {
          const outbox = join(lims, place);
          for (const name of await readdir(outbox)) {
            const text = await readFile(join(outbox, name), "utf8");
            if (/\|ORU\^R01/.test(text) && text.includes(number)) return text;
          }
          return undefined;
        },
        { what: `a result of ${number} in ${place}`, withinMs: 150_000 },
      ),
    remove: async () => {
      await started.down({ removeVolumes: true, timeout: 10_000 });
    },
  };
}
