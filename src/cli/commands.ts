import { Command } from "commander";
import type { Cli } from "./session.ts";

/** A command, or a family of commands with a common first word. */
interface Family {
  readonly name: string;
  readonly description: string;
  /** Its file, which adds arguments, options, actions and inner commands. */
  readonly load: () => Promise<{ define(command: Command, cli: Cli): void }>;
}

/** Every command, in the order in which the help lists them. A new one is a file of its own and an entry here. */
const FAMILIES: readonly Family[] = [
  {
    name: "start",
    description:
      "Run the daemon: take orders in, work them off, show the console. Ctrl-C or SIGTERM ends it orderly.",
    load: () => import("./commands/start.ts"),
  },
  {
    name: "check",
    description:
      "Look whether everything is right: configuration, profiles, folders, database, queue, service.",
    load: () => import("./commands/check.ts"),
  },
  {
    name: "status",
    description:
      "Say in a few lines how things stand: what is wrong, since when, what it affects and what to do.",
    load: () => import("./commands/status.ts"),
  },
  {
    name: "preview",
    description:
      "Show what would become of a file: its orders, the calls to the service, and the answer or rejection. Sends and stores nothing.",
    load: () => import("./commands/preview.ts"),
  },
  {
    name: "orders",
    description: "List, show and act on orders.",
    load: () => import("./commands/orders.ts"),
  },
  {
    name: "messages",
    description: "List and show what came in, and map it again.",
    load: () => import("./commands/messages.ts"),
  },
  {
    name: "queue",
    description: "Look into the queues of work, and act on what is in them.",
    load: () => import("./commands/queue.ts"),
  },
  {
    name: "tasks",
    description: "What a person has to see to, and what was seen to.",
    load: () => import("./commands/tasks.ts"),
  },
  {
    name: "hl7",
    description: "Show, check, compare, send and receive HL7 messages.",
    load: () => import("./commands/hl7.ts"),
  },
  {
    name: "refills",
    description: "List liquid-nitrogen refills that are followed, and how long ago each tank was refilled.",
    load: () => import("./commands/refills.ts"),
  },
  {
    name: "service",
    description: "Read what the storage service has; changes nothing.",
    load: () => import("./commands/service.ts"),
  },
  {
    name: "simulator",
    description: "Run the simulated storage service alone, with a page on which to play staff and device.",
    load: () => import("./commands/simulator.ts"),
  },
  {
    name: "schema",
    description: "Print the configuration's JSON Schema, mapping profiles included.",
    load: () => import("./commands/schema.ts"),
  },
  {
    name: "demo",
    description:
      "Show the whole way of an order on this machine alone: a simulated service, a daemon, sample orders and their results.",
    load: () => import("./commands/demo.ts"),
  },
];

/**
 * The commands of one run. Only those whose name is among the words of the command line are whole, so that none waits
 * for the code of all others; of the others the help needs no more than the description.
 *
 * @param argv the words of the command line; all commands are whole without them
 */
export async function createCommands(cli: Cli, argv?: readonly string[]): Promise<Command[]> {
  return Promise.all(
    FAMILIES.map(async ({ name, description, load }) => {
      const command = new Command(name).description(description);
      if (argv === undefined || argv.includes(name)) (await load()).define(command, cli);
      return command;
    }),
  );
}
