import { Command, InvalidArgumentError } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge simulator`. */
export function simulatorCommand(cli: Cli): Command {
  return new Command("simulator")
    .description("Run the simulated storage service alone, with a page on which to play staff and device.")
    .option("--port <n>", "port to listen on; 0 takes any free one", wholeNumber(0, 65_535), 4711)
    .option("--speed <x>", "how much faster than the clock staff and devices live", positive, 1)
    .option("--seed <n>", "seed of all chance", wholeNumber(0), 1)
    .option("--faults <file>", "YAML or JSON file with faults and other settings")
    .addHelpText("after", "\nExample:\n  cryobridge simulator --speed 60 --faults outage.yaml")
    .action(toAction(cli, async () => (await import("./simulator-run.ts")).runSimulator));
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number above 0.");
}
