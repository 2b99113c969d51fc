import { Command } from "commander";
import { findList, type ListKind, type RecordKind } from "../../core/service-catalogue.ts";
import { SURFACES, type Surface } from "../../core/surface.ts";
import type { Column } from "../../operator/column.ts";
import { hideRecord, OWNERS } from "../../operator/hide-record.ts";
import { clean } from "../../operator/text.ts";
import { readInventory } from "../../service/inventory/shape.ts";
import type { RawObject } from "../../service/values.ts";
import { collect, oneOf, serviceId, wholeNumber } from "../arguments.ts";
import { readConfig, recordRead, withService } from "../open.ts";
import { withProgress } from "../output/progress.ts";
import { renderFields } from "../output/table.ts";
import { type Act, type Cli, type Session, toAction } from "../session.ts";
import { columnsOf, otherFields, type Shown } from "./service/columns.ts";
import { listAct } from "./service/list.ts";

/** `cryobridge service …`: reads of the storage service, for a person with a question. Nothing is changed there. */
export function define(service: Command, cli: Cli): void {
  for (const [list, description, example] of LISTS)
    service.addCommand(listCommand(cli, list, description, example));
  for (const [record, description, example, shownAs] of RECORDS) {
    const command = service
      .command(record)
      .description(description)
      .argument("<id>", "the service's id", serviceId)
      .addHelpText("after", `\nExample:\n  cryobridge service ${example}`)
      .action(toAction(cli, showRecord(record, shownAs)));
    if (record === "procedure") command.option(...SURFACE);
  }
  service
    .command("inventory")
    .description("What a storage solution holds, as the service shows it.")
    .argument("<id>", "the storage solution's id", serviceId)
    .option("--page <n>", "a page of it, where the service shows it in pages", wholeNumber(1))
    .addHelpText("after", "\nExample:\n  cryobridge service inventory 7 --json")
    .action(toAction(cli, showInventory));
}

const SURFACE = [
  "--surface <surface>",
  "request or external (default: the configured one)",
  oneOf(SURFACES),
] as const;

function listCommand(cli: Cli, list: ListKind, description: string, example: string): Command {
  const command = new Command(list)
    .description(description)
    .option("--facility <name>", "only those of a facility, by the lab's name for it");
  if (list === "requests" || list === "procedures") {
    command
      .option("--status <status>", "only those in a status, such as PENDING")
      .option("--type <type>", "only those of a type, such as STORE");
  }
  if (list !== "storage") command.option("--subject <code>", "only those of a subject");
  if (findList(list, "external") !== undefined) command.option(...SURFACE);
  return command
    .option(
      "--filter <name=value>",
      "any field=, field_like=, field_from= or field_to=; may stand several times",
      collect,
    )
    .option("--limit <n>", "at most this many (default: 100)", wholeNumber(1, 1_000_000))
    .option("--all", "all of them, however many")
    .addHelpText("after", `\nExample:\n  cryobridge service ${example}`)
    .action(toAction(cli, listAct(list)));
}

const LISTS: readonly (readonly [list: ListKind, description: string, example: string])[] = [
  ["subjects", "List subjects.", "subjects --facility NORTH --filter lastName_like=ro --show-phi"],
  ["requests", "List procedure requests.", "requests --status PENDING --filter createdAt_from=2026-11-01"],
  ["procedures", "List procedures, refills among them.", "procedures --type REFILL --surface external"],
  ["containers", "List sample containers.", "containers --subject S-1"],
  ["storage", "List storage solutions.", "storage --facility NORTH"],
];

const RECORDS: readonly (readonly [
  record: RecordKind,
  description: string,
  example: string,
  shownAs: Shown,
])[] = [
  ["subject", "Show one subject.", "subject 17 --show-phi", "subjects"],
  ["request", "Show one procedure request.", "request 1001", "requests"],
  ["procedure", "Show one procedure.", "procedure 2001", "procedures"],
  ["location", "Show where a sample container is stored, by the container's id.", "location 301", "location"],
];

function showRecord(record: RecordKind, shownAs: Shown): Act {
  return async (session, id: number, options: { readonly surface?: Surface }) => {
    const config = readConfig(session);
    const surface = record === "procedure" ? (options.surface ?? config.service.surface) : "request";
    await recordRead(session, config, `service ${record} ${id}`);
    const raw = await withService(session, config, (service) =>
      service.readRecord(record, surface, id, new AbortController().signal),
    );
    const shown = hideRecord(raw, OWNERS[record], session.mayShowPhi) as RawObject;
    const columns = columnsOf(shownAs, surface, config);
    const others = otherFields(shown, columns).map(
      ([title, value]): Column<RawObject> => ({ title, show: () => value }),
    );
    session.result({ [record]: shown, surface }, renderFields([...columns, ...others], shown, session));
    return undefined;
  };
}

/** In the shape in which the service shows it, since no shape is specified. */
async function showInventory(
  session: Session,
  id: number,
  { page }: { readonly page?: number },
): Promise<undefined> {
  const config = readConfig(session);
  await recordRead(session, config, `service inventory ${id}`);
  const raw = await withProgress(session, { what: "inventory", nouns: "records" }, () =>
    withService(session, config, (service) => service.getInventory(id, new AbortController().signal, page)),
  );
  const inventory = hideRecord(raw, OWNERS.inventory, session.mayShowPhi);
  session.result({ inventory }, JSON.stringify(inventory, null, 2).split("\n").map(clean));
  const { containerLabelFields: labelFields, perPage } = config.service;
  const question = {
    storageId: id,
    labelFields,
    fields: config.service.inventory.fields,
    isWanted: () => false,
  };
  const { shown, total = 0 } = readInventory(raw, question);
  if (shown > 0 && shown < total)
    session.note(
      `These are ${shown} of ${total} containers; --page shows others, ${perPage} at a time at most.`,
    );
}
