import { Command } from "commander";
import { LISTS } from "../operator/lists.ts";
import type { Cli } from "./session.ts";

/**
 * Every command or family of commands with a common first word, in the order in which the help lists them. A new one is
 * an entry here and a file of its name in `commands/`, which adds arguments, options, actions and inner commands; a list is an
 * entry in `LISTS`.
 */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  start:
    "Run the daemon: take orders in, work them off, show the console. Ctrl-C or SIGTERM ends it orderly.",
  init: "Write a first configuration and mapping profile: from a sample file of the lab, and a few questions.",
  check: "Check whether everything is right: configuration, profiles, folders, database, queue, service.",
  status: "Say in a few lines how things stand: what is wrong, since when, what it affects and what to do.",
  top: "Show all at one look, live: what needs a person, connectors, orders by stage, the service, queues and workers.",
  preview:
    "Show what would become of a file: its orders, the calls to the service, and the answer or rejection. Sends and stores nothing.",
  profile: "Show what a profile reads, with where each setting comes from, and test profiles by files.",
  ...Object.fromEntries(Object.entries(LISTS).map(([name, { help }]) => [name, help])),
  queue: "Show the queues of work, and act on what is in them.",
  workers:
    "List the daemons that work with this ledger, and have one stop when it has done what it has in hand.",
  reload: "Have the daemons take over what was changed in their configuration, without a restart.",
  backup: "Write all that the ledger holds into a file, also while daemons work.",
  restore:
    "Put a backup into an empty ledger, or in the place of what the ledger holds; beside a daemon only with --stop.",
  hl7: "Show, send and receive HL7 messages.",
  report: "What came in on a day or in a month, what became of it, how long it took, and what was refused.",
  inventory: "Compare the lab's list of containers with what the service has in storage.",
  service: "Read what the storage service has; changes nothing.",
  simulator: "Run the simulated storage service alone, with a page on which to play staff and device.",
  schema: "Print the configuration's JSON Schema, mapping profiles included.",
  completion: "Print a script with which a shell completes commands, options and their words.",
  demo: "Show the whole way of an order on this machine alone: a simulated service, a daemon, sample orders and their results.",
};

/** The lists whose command is more than they. */
const HAS_MORE = ["orders", "messages", "files", "results", "alerts", "refills", "audit"];

interface Family {
  define(command: Command, cli: Cli): void;
}

/**
 * The commands of one run. Only those whose name is among the words of the command line are whole, so that none waits
 * for the code of all others; of the others the help needs no more than the description.
 *
 * @param argv the words of the command line; all commands are whole without them
 */
export async function createCommands(cli: Cli, argv?: readonly string[]): Promise<Command[]> {
  return Promise.all(
    Object.entries(DESCRIPTIONS).map(async ([name, description]) => {
      const command = new Command(name).description(description);
      if (argv !== undefined && !argv.includes(name)) return command;
      if (name in LISTS && !HAS_MORE.includes(name)) {
        const { definePlainList } = await import("./list-command.ts");
        await definePlainList(command, cli, LISTS[name as keyof typeof LISTS].load);
      } else {
        const family: Family = await import(`./commands/${name}.ts`);
        family.define(command, cli);
      }
      return command;
    }),
  );
}
