import { Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../core/duration.ts";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge demo`: what `npm start` runs. */
export function demoCommand(cli: Cli): Command {
  return new Command("demo")
    .description(
      "Show the whole way of an order on this machine alone: a simulated service, a daemon, sample orders and their results.",
    )
    .option("--exit-when-done", "end once every sample order is at its end: status 0 if all went well")
    .addOption(
      new Option(
        "--within <time>",
        "how long that may take; then it ends with status 1 and says what is missing",
      )
        .argParser(duration)
        .default(52_000, "52s"),
    )
    .option("--port <n>", "port of the console; 0 takes any free one", wholeNumber(0, 65_535))
    .option("--speed <x>", "how much faster than the clock staff and devices live", positive, 60)
    .option(
      "--dir <folder>",
      "where everything is put; what an earlier demo left there is removed first",
      "demo",
    )
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge demo --exit-when-done --speed 120\n\nAt a terminal, keys play on: d drops an order, f has the service fail, k kills the daemon, q quits.",
    )
    .action(toAction(cli, async () => (await import("./demo/run-demo.ts")).runDemo));
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError("Expected a duration such as 90s or 2m.");
}

function positive(text: string): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("Expected a number above 0.");
}
