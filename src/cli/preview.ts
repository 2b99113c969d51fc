import { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge preview`. */
export function previewCommand(cli: Cli): Command {
  return new Command("preview")
    .description(
      "Show what would become of a file: its orders, the calls to the service, and the answer or rejection. Sends and stores nothing.",
    )
    .argument("<file>", "an HL7 or CSV file; - for standard input")
    .requiredOption("--connector <name>", "read it as this connector would")
    .option("--limit <n>", "show at most so many messages; all are counted", wholeNumber(1, 100_000), 20)
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge preview order.hl7 --connector lims\n\nStatus 1 when anything of the file would be refused. Whether it came before is not looked up.",
    )
    .action(toAction(cli, async () => (await import("./preview-file.ts")).previewFile));
}
