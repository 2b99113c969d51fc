import type { Command } from "commander";
import { wayOfFacility } from "../../config/config.ts";
import { SURFACES, type Surface } from "../../core/surface.ts";
import { Inventory } from "../../operator/inventory.ts";
import { inventoryNotes } from "../../operator/inventory-columns.ts";
import { collect, oneOf } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { facilityIdOf, readConfig, withLedger, withService } from "../open.ts";
import { type FormOptions, requireOneForm } from "../output/form.ts";
import { withProgress } from "../output/progress.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { type ListOptions, readLabList } from "./inventory/lab-list.ts";
import { printInventory } from "./inventory/output.ts";
import { beside, readContainers, readPlaces, readSubjects } from "./inventory/service-list.ts";

/**
 * `cryobridge inventory FILE`. The console has no page of it: all of a lab's list would go through a browser, and the calls for a whole
 * facility out of the daemon's hands; who compares runs this beside the daemon, within its limits.
 */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "the lab's list, a CSV file; - is standard input")
    .requiredOption("--facility <name>", "whose containers the list has, by the lab's name for it")
    .option("--label <column>", "the column with the label (default: by its heading)")
    .option("--storage <column>", "the column with the tank, to compare; asks the service for each container")
    .option("--position <column>", "the column with the position in it, likewise")
    .option("--only <column=value>", "only lines with this value there; may stand several times", collect)
    .option("--no-heading", "the first line is a container, and columns are called 1, 2, …")
    .option("--encoding <name>", "of the list, such as windows-1252", "auto")
    .option("--surface <surface>", "request or external (default: the facility's)", oneOf(SURFACES))
    .option("--csv", "one CSV text instead")
    .addHelpText(
      "after",
      "\nExit status: 0 both say the same, 1 there are differences, 2 they could not be compared.\n\nExample:\n  cryobridge inventory list.csv --facility NORTH --only status=stored --csv > differences.csv",
    )
    .action(toAction(cli, compareInventory, EXIT.notCompared));
}

interface Options extends ListOptions, Pick<FormOptions, "csv"> {
  readonly facility: string;
  readonly surface?: Surface;
}

async function compareInventory(
  session: Session,
  file: string,
  options: Options,
): Promise<ExitStatus | undefined> {
  requireOneForm(session, options);
  const config = readConfig(session);
  const facilityId = facilityIdOf(config, options.facility) as number;
  const surface = options.surface ?? wayOfFacility(config, facilityId).surface;
  const progressing = { what: "inventory", nouns: "lines read" };
  const inventory = new Inventory();
  const { list, areSubjectsKnown } = await withLedger(
    session,
    ({ pool }) =>
      withProgress(session, progressing, async (report) => {
        const list = await readLabList(session, file, options, (lines, read) => {
          inventory.addLines(lines);
          report(read);
        });
        const areSubjectsKnown = await withService(session, config, (service) =>
          beside({ service, pool, clock: session.clock }, async () => {
            const reading = { service, inventory, config, facilityId, surface, report };
            const areKnown = await readSubjects(reading);
            await readContainers(reading);
            if (options.storage !== undefined || options.position !== undefined) await readPlaces(reading);
            return areKnown;
          }),
        );
        return { list, areSubjectsKnown };
      }),
    config,
  );
  const { counts, differences } = inventory.compare();
  const notes = inventoryNotes(counts, { ...list, areSubjectsKnown });
  printInventory(
    session,
    { differences, list, counts, facility: options.facility, notes },
    options.csv === true,
  );
  return differences.length > 0 ? EXIT.differs : undefined;
}
