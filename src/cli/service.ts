import { Command } from "commander";
import { SURFACES } from "../core/surface.ts";
import { pathOfList, type ReadableList } from "../service/reads.ts";
import { oneOf, serviceId, wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge service …`: reads of the storage service, for a person with a question. Nothing is changed there. */
export function serviceCommand(cli: Cli): Command {
  const service = new Command("service").description("Read what the storage service has; changes nothing.");
  for (const { list, description, example } of LISTS)
    service.addCommand(listCommand(cli, list, description, example));
  for (const { record, description, example } of RECORDS) {
    const command = service
      .command(record)
      .description(description)
      .argument("<id>", "the service's id", serviceId)
      .addHelpText("after", `\nExample:\n  ${example}`)
      .action(toAction(cli, async () => (await import("./service-show.ts")).showRecordCommand(record)));
    if (record === "procedure") command.option(...SURFACE);
  }
  service
    .command("inventory")
    .description("What a storage solution holds, as the service tells it.")
    .argument("<id>", "the storage solution's id", serviceId)
    .addHelpText("after", "\nExample:\n  cryobridge service inventory 7 --json")
    .action(toAction(cli, async () => (await import("./service-show.ts")).showInventoryCommand));
  return service;
}

const SURFACE = [
  "--surface <surface>",
  "request or external (default: the configured one)",
  oneOf(SURFACES),
] as const;

function listCommand(cli: Cli, list: ReadableList, description: string, example: string): Command {
  const command = new Command(list)
    .description(description)
    .argument("[list]", "the word `list` may stand here", listWord)
    .option("--facility <name>", "only those of a facility, by the lab's name for it");
  if (list === "requests" || list === "procedures") {
    command
      .option("--status <status>", "only those in a status, such as PENDING")
      .option("--type <type>", "only those of a type, such as STORE");
  }
  if (list !== "storage") command.option("--subject <code>", "only those of a subject");
  if (pathOfList(list, "external") !== undefined) command.option(...SURFACE);
  return command
    .option(
      "--filter <name=value>",
      "any field=, field_like=, field_from= or field_to=; may stand several times",
      collect,
    )
    .option("--limit <n>", "at most so many", wholeNumber(1, 1_000_000))
    .option("--all", "all of them, however many")
    .option("--page <n>", "one page as the service numbers them", wholeNumber(1))
    .option("--per-page <n>", "page size to ask for", wholeNumber(1, 10_000))
    .option("--wide", "fields that the specification doesn't know too")
    .addHelpText("after", `\nExample:\n  ${example}`)
    .action(toAction(cli, async () => (await import("./service-list.ts")).listCommand(list)));
}

const listWord = oneOf(["list"]);

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

const LISTS: readonly {
  readonly list: ReadableList;
  readonly description: string;
  readonly example: string;
}[] = [
  {
    list: "subjects",
    description: "List subjects.",
    example: "cryobridge service subjects --facility NORTH --filter lastName_like=ro --show-phi",
  },
  {
    list: "requests",
    description: "List procedure requests.",
    example:
      "cryobridge service requests --status PENDING --filter createdAt_from=2026-11-01\n  cryobridge service requests --all --json",
  },
  {
    list: "procedures",
    description: "List procedures, refills among them.",
    example: "cryobridge service procedures --facility NORTH --type REFILL --surface external",
  },
  {
    list: "containers",
    description: "List sample containers.",
    example: "cryobridge service containers --subject S-1",
  },
  {
    list: "storage",
    description: "List storage solutions.",
    example: "cryobridge service storage --facility NORTH",
  },
];

const RECORDS = [
  {
    record: "subject",
    description: "Show one subject.",
    example: "cryobridge service subject 17 --show-phi",
  },
  {
    record: "request",
    description: "Show one procedure request.",
    example: "cryobridge service request 1001",
  },
  { record: "procedure", description: "Show one procedure.", example: "cryobridge service procedure 2001" },
  {
    record: "location",
    description: "Show where a sample container is stored, by the container's id.",
    example: "cryobridge service location 301",
  },
] as const;
