import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, type CliWorld, runCli } from "./run-cli.ts";
import { configText } from "./with-lab.ts";

/** A simulated service, and the command line with a configuration for it. */
export interface ServiceBench {
  readonly simulator: Simulator;
  readonly folder: string;
  /** Sends a body to the simulator as another integration of the organization would; gives the answer's body. */
  post(path: string, body: unknown): Promise<Record<string, unknown>>;
  cli(argv: readonly string[], world?: CliWorld): Promise<CliResult>;
}

const TOKEN = "simulator-api-token";

/** The configuration's text for a service at an address; `more` are further lines of the section `service`. */
export function serviceConfig(
  url: string,
  database: string | undefined,
  more: readonly string[] = [],
): string {
  const lines = more.map((line) => `  ${line}\n`).join("");
  return configText(database).replace("http://127.0.0.1:9", url).replace("  auth:", `${lines}  auth:`);
}

/** Runs a test with a simulator whose staff and devices are off. */
export async function withService(
  given: {
    readonly simulator?: SimulatorOptions;
    readonly database?: string;
    readonly service?: readonly string[];
  },
  test: (bench: ServiceBench) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const byHand = { staff: { auto: false }, device: { auto: false } };
    const simulator = await createSimulator({ ...byHand, ...given.simulator, port: 0 });
    const config = join(folder, "c.yaml");
    await writeFile(config, serviceConfig(simulator.url, given.database, given.service));
    try {
      await test({
        simulator,
        folder,
        post: async (path, body) => {
          const answer = await fetch(new URL(path, simulator.url), {
            method: "POST",
            headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
            body: JSON.stringify(body),
          });
          return (await answer.json()) as Record<string, unknown>;
        },
        cli: (argv, world = {}) =>
          runCli(["--config", config, ...argv], { ...world, env: { TOKEN, ...world.env } }),
      });
    } finally {
      await simulator.close();
    }
  });
}
