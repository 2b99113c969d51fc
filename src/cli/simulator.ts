import { Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

const EXAMPLES = `
Example:
  cryobridge simulator --speed 60 --faults config/simulator/faults.yaml
  cryobridge simulator --behaviour config/simulator/strict-service.yaml
  cryobridge simulator --openapi > service.openapi.json`;

/** `cryobridge simulator`. */
export function simulatorCommand(cli: Cli): Command {
  return new Command("simulator")
    .description("Run the simulated storage service alone, with a page on which to play staff and device.")
    .option("--port <n>", "port to listen on; 0 takes any free one", wholeNumber(0, 65_535), 4711)
    .option("--speed <x>", "how much faster than the clock staff and devices live (default: 1)", positive)
    .option("--seed <n>", "seed of all chance (default: 1)", wholeNumber(0))
    .option("--behaviour <file>", "YAML file with what this service decides where its specification is open")
    .option("--faults <file>", "YAML file with faults; both files may hold any key, and this one wins")
    .option(
      "--openapi",
      "print the OpenAPI 3.1 description of this service as it is by its defaults, and end",
    )
    .addHelpText("after", EXAMPLES)
    .action(toAction(cli, async () => (await import("./simulator-run.ts")).runSimulator));
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number above 0.");
}
