import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { environment, readText } from "../../config/environment.ts";
import { type ConfigProblem, configFailure, problemAt } from "../../config/problems.ts";
import { readSource } from "../../config/source.ts";
import { validate } from "../../config/validate.ts";
import { codeOf, Failure } from "../../core/failures.ts";
import { openApiDocument } from "../../simulator/description.ts";
import { Refusal } from "../../simulator/http/refusal.ts";
import {
  combineScripts,
  DEFAULT_ORGANIZATION,
  EDITIONS,
  type Edition,
  resolveOptions,
  type SimulatorOptions,
  type SimulatorScript,
  scriptSchema,
} from "../../simulator/options.ts";
import { createSimulator, type Simulator } from "../../simulator/simulator.ts";
import { oneOf, positiveNumber, SIMULATOR_PORT, wholeNumber } from "../arguments.ts";
import { untilStopped } from "../io.ts";
import { type Cli, type Session, toAction } from "../session.ts";

const EXAMPLES = `
Example:
  cryobridge simulator --speed 60 --faults config/simulator/faults.yaml
  cryobridge simulator --behaviour config/simulator/strict-service.yaml
  cryobridge simulator --edition public
  cryobridge simulator --openapi > service.openapi.json`;

/** `cryobridge simulator`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--port <n>", "port to listen on; 0 takes any free one", wholeNumber(0, 65_535), SIMULATOR_PORT)
    .option(
      "--host <address>",
      "address to listen on; who reaches it may play staff and device, so only on a network that you trust",
      "127.0.0.1",
    )
    .option(
      "--speed <x>",
      "how much faster than the clock staff and devices live (default: 1)",
      positiveNumber,
    )
    .option("--seed <n>", "seed of all chance (default: 1)", wholeNumber(0))
    .option(
      "--edition <name>",
      "specification or public: the service as it is described in public (default: specification)",
      oneOf(EDITIONS),
    )
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
  readonly host: string;
  readonly speed?: number;
  readonly seed?: number;
  readonly edition?: Edition;
  readonly behaviour?: string;
  readonly faults?: string;
  readonly openapi?: boolean;
}

/** Runs until it is asked to stop, or prints its description. */
async function runSimulator(session: Session, given: Given): Promise<undefined> {
  if (given.openapi) {
    session.json(openApiDocument(given.edition));
    return undefined;
  }
  const files = [given.behaviour, given.faults].filter((file) => file !== undefined);
  const options: SimulatorOptions = {
    ...readSimulatorFiles(files, session.io.env),
    ...(given.edition === undefined ? {} : { edition: given.edition }),
    ...(given.speed === undefined ? {} : { speed: given.speed }),
    ...(given.seed === undefined ? {} : { seed: given.seed }),
  };
  const simulator = await create(options);
  const url = await listen(simulator, given);
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
  const { edition, tokens, organizations } = resolveOptions(options);
  const tokenUrl = `${url}${tokens.path}`;
  if (session.isJson) {
    const [first = DEFAULT_ORGANIZATION] = organizations;
    const [client] = first.clients;
    session.json({ url, tokenUrl, edition, facilities: first.facilities, ...client, organizations });
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
  session.line(`  edition         ${edition}`);
  session.line(`  speed           ${simulator.control.settings().speed}`);
  session.line(`  faults          ${simulator.control.faults().length}`);
  session.line(`  description     ${url}/openapi.json`);
}

async function listen(simulator: Simulator, { port, host }: Pick<Given, "port" | "host">): Promise<string> {
  try {
    return await simulator.listen(port, host);
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw new Failure("CLI_USAGE", `--host ${host}: it is no address of this machine (${code})`);
    const why =
      code === "EADDRINUSE" ? "another program listens there already" : `can't listen there (${code})`;
    throw new Failure("CLI_USAGE", `--port ${port}: ${why}; name another port, or 0 for any free one`);
  }
}

/**
 * Reads simulator files (YAML or JSON), the later ones winning over the earlier. `${NAME}` stands for a variable of
 * the environment, as in the configuration. Throws CLI_FILE_UNREADABLE, or a
 * {@link import("../../config/validate.ts").ConfigFailure} with every mistake of all files and its line.
 */
export function readSimulatorFiles(
  files: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SimulatorOptions {
  const problems: ConfigProblem[] = [];
  const scripts = files.flatMap((file): SimulatorScript[] => {
    const read = readText(file);
    if ("problem" in read) throw new Failure("CLI_FILE_UNREADABLE", `${file}: ${read.problem}`);
    const source = readSource(file, read.text, environment(env, dirname(resolve(file))));
    problems.push(...source.problems);
    if (!source.isReadable || source.value === undefined || source.value === null) return [];
    if (typeof source.value !== "object") {
      const message = "expected a list of faults, or keys such as faults, behaviour and staff";
      problems.push(problemAt(file, { line: 1, column: 1 }, [], message));
      return [];
    }
    const validation = validate(scriptSchema, source.value, source);
    if (validation.isValid) return [validation.value];
    problems.push(...validation.problems);
    return [];
  });
  if (problems.length > 0) throw configFailure(problems);
  return combineScripts(scripts);
}
