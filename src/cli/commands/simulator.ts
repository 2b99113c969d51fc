import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { Refusal } from "../../simulator/http/refusal.ts";
import { DEFAULT_ORGANIZATION, resolveOptions, type SimulatorOptions } from "../../simulator/options.ts";
import { createSimulator, openApiDocument, type Simulator } from "../../simulator/simulator.ts";
import { positiveNumber, wholeNumber } from "../arguments.ts";
import { untilStopped } from "../io.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { readSimulatorFiles } from "../simulator-files.ts";

const EXAMPLES = `
Example:
  cryobridge simulator --speed 60 --faults config/simulator/faults.yaml
  cryobridge simulator --behaviour config/simulator/strict-service.yaml
  cryobridge simulator --openapi > service.openapi.json`;

/** `cryobridge simulator`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--port <n>", "port to listen on; 0 takes any free one", wholeNumber(0, 65_535), 4711)
    .option(
      "--speed <x>",
      "how much faster than the clock staff and devices live (default: 1)",
      positiveNumber,
    )
    .option("--seed <n>", "seed of all chance (default: 1)", wholeNumber(0))
    .option("--behaviour <file>", "YAML file with what this service decides where its specification is open")
    .option("--faults <file>", "YAML file with faults; both files may hold any key, and this one wins")
    .option(
      "--openapi",
      "print the OpenAPI 3.1 description of this service as it is by its defaults, and end",
    )
    .addHelpText("after", EXAMPLES)
    .action(toAction(cli, runSimulator));
}

interface Given {
  readonly port: number;
  readonly speed?: number;
  readonly seed?: number;
  readonly behaviour?: string;
  readonly faults?: string;
  readonly openapi?: boolean;
}

/** Runs until it is asked to stop, or prints its description. */
async function runSimulator(session: Session, command: Command): Promise<undefined> {
  const given = command.opts<Given>();
  if (given.openapi) {
    session.json(openApiDocument());
    return undefined;
  }
  const files = [given.behaviour, given.faults].filter((file) => file !== undefined);
  const options: SimulatorOptions = {
    ...readSimulatorFiles(files, session.io.env),
    ...(given.speed === undefined ? {} : { speed: given.speed }),
    ...(given.seed === undefined ? {} : { seed: given.seed }),
  };
  const simulator = await create(options);
  const url = await listen(simulator, given.port);
  announce(session, simulator, url, options);
  await untilStopped(session.io);
  await simulator.close();
  return undefined;
}

async function create(options: SimulatorOptions): Promise<Simulator> {
  try {
    return await createSimulator(options);
  } catch (error) {
    // What is there before anyone calls may contradict itself, such as a container of an unknown subject.
    if (!(error instanceof Refusal)) throw error;
    throw new Failure(
      "CONFIG_INVALID",
      `the simulator can't begin with these subjects and containers: ${error.message}`,
    );
  }
}

function announce(session: Session, simulator: Simulator, url: string, options: SimulatorOptions): void {
  const { tokens, organizations } = resolveOptions(options);
  const tokenUrl = `${url}${tokens.path}`;
  if (session.isJson) {
    const [first = DEFAULT_ORGANIZATION] = organizations;
    const [client] = first.clients;
    session.json({ url, tokenUrl, facilities: first.facilities, ...client, organizations });
    return;
  }
  session.line(`Simulated storage service: ${url} (open it in a browser to play staff and device)`);
  session.line(`  token endpoint  ${tokenUrl}`);
  for (const { name, clients, facilities } of organizations) {
    session.line(`  ${name}`);
    for (const { clientId, clientSecret, apiToken } of clients) {
      const orToken = apiToken === undefined ? "" : `, or API token ${apiToken}`;
      session.line(`    client        ${clientId} with secret ${clientSecret}${orToken}`);
    }
    session.line(`    facilities    ${facilities.map((each) => `${each.name} ${each.id}`).join(", ")}`);
  }
  session.line(`  speed           ${simulator.control.settings().speed}`);
  session.line(`  faults          ${simulator.control.faults().length}`);
  session.line(`  description     ${url}/openapi.json`);
}

async function listen(simulator: Simulator, port: number): Promise<string> {
  try {
    return await simulator.listen(port);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    const why =
      code === "EADDRINUSE" ? "another program listens there already" : `can't listen there (${code})`;
    throw new Failure("CLI_USAGE", `--port ${port}: ${why}; name another port, or 0 for any free one`);
  }
}
