import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import { parse } from "yaml";
import { Failure } from "../core/failures.ts";
import { DEFAULT_ORGANIZATION, parseScript, type SimulatorScript } from "../simulator/options.ts";
import { createSimulator, type Simulator } from "../simulator/simulator.ts";
import type { Session } from "./session.ts";
import { untilStopped } from "./until-stopped.ts";

interface SimulatorOptions {
  readonly port: number;
  readonly speed: number;
  readonly seed: number;
  readonly faults?: string;
}

/** `simulator`: runs until it is asked to stop. */
export async function runSimulator(session: Session, command: Command): Promise<undefined> {
  const { faults: file, ...options } = command.opts<SimulatorOptions>();
  const script = file === undefined ? undefined : await readScript(file);
  const simulator = await createSimulator({ speed: options.speed, seed: options.seed });
  if (script) {
    simulator.control.configure(script.settings);
    simulator.control.setFaults(script.faults);
  }
  const url = await listen(simulator, options.port);
  const [client] = DEFAULT_ORGANIZATION.clients;
  const facilities = DEFAULT_ORGANIZATION.facilities;
  if (session.isJson) {
    session.json({ url, tokenUrl: `${url}/oauth/token`, facilities, ...client });
  } else {
    session.line(`Simulated storage service: ${url} (open it in a browser to play staff and device)`);
    session.line(`  token endpoint  ${url}/oauth/token`);
    session.line(`  client          ${client?.clientId} with secret ${client?.clientSecret}`);
    session.line(`  facilities      ${facilities.map(({ id, name }) => `${name} ${id}`).join(", ")}`);
    session.line(`  speed           ${simulator.control.settings().speed}`);
  }
  await untilStopped(session.io);
  await simulator.close();
  return undefined;
}

async function listen(simulator: Simulator, port: number): Promise<string> {
  try {
    return await simulator.listen(port);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === undefined) throw error;
    throw new Failure("CLI_USAGE", `--port ${port}: can't listen there (${code})`);
  }
}

async function readScript(file: string): Promise<SimulatorScript> {
  let content: unknown;
  try {
    content = parse(await readFile(file, "utf8"));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
    throw new Failure("CLI_FILE_UNREADABLE", `${file} can't be read (${code})`);
  }
  return parseScript(content);
}
