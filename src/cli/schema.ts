import { Command } from "commander";
import { type Cli, type Session, toAction } from "./session.ts";

/** `cryobridge schema`. */
export function schemaCommand(cli: Cli): Command {
  return new Command("schema")
    .description("Print the configuration's JSON Schema, mapping profiles included.")
    .addHelpText("after", "\nExample:\n  cryobridge schema > cryobridge.schema.json")
    .action(toAction(cli, async () => printSchema));
}

async function printSchema(session: Session): Promise<undefined> {
  const { configJsonSchema } = await import("../config/json-schema.ts");
  const { profileSchema } = await import("../mapping/profile-schema.ts");
  session.json(configJsonSchema({ profileSchema }));
  return undefined;
}
