import type { Command } from "commander";
import { configJsonSchema } from "../../config/schema-at.ts";
import { profileSchema } from "../../mapping/profile/schema.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge schema`. */
export function define(command: Command, cli: Cli): void {
  command
    .addHelpText("after", "\nExample:\n  cryobridge schema > cryobridge.schema.json")
    .action(toAction(cli, printSchema));
}

async function printSchema(session: Session): Promise<undefined> {
  session.json(configJsonSchema({ profileSchema }));
}
