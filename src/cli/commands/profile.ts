import type { Command } from "commander";
import { type Cli, toAction } from "../session.ts";
import { showProfile } from "./profile/show.ts";
import { testProfiles } from "./profile/test.ts";

/** `cryobridge profile …`. */
export function define(profile: Command, cli: Cli): void {
  profile
    .command("show")
    .description("The whole profile as it works, after `extends`, with where each value comes from.")
    .argument("<name>", "name of a profile, such as our-lab or builtin/hl7-orders")
    .addHelpText("after", "\nExample:\n  cryobridge profile show our-lab")
    .action(toAction(cli, showProfile));
  profile
    .command("test")
    .description(
      "Read each file of a folder as its connector would, and compare orders and answers with NAME.expected.json beside it.",
    )
    .argument("<dir>", "with files, or with a folder for each connector, named like it")
    .option(
      "--connector <name>",
      "read the files as this connector would; without it, as the one that the folder is named after",
    )
    .option("--update", "write NAME.expected.json as it is now")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge profile test profile-tests --update\n\nStatus 1 when a file gives something else than expected. NAME.expected.json has the values of the file in clear:\nuse invented patients. Nothing is sent or stored.",
    )
    .action(toAction(cli, testProfiles));
}
