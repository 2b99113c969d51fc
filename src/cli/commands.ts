import type { Command } from "commander";
import { checkCommand } from "./check.ts";
import { demoCommand } from "./demo.ts";
import { hl7Command } from "./hl7.ts";
import { messagesCommand } from "./messages.ts";
import { ordersCommand } from "./orders.ts";
import { previewCommand } from "./preview.ts";
import { queueCommand } from "./queue.ts";
import { refillsCommand } from "./refills.ts";
import { schemaCommand } from "./schema.ts";
import { serviceCommand } from "./service.ts";
import type { Cli } from "./session.ts";
import { simulatorCommand } from "./simulator.ts";
import { startCommand } from "./start.ts";
import { statusCommand } from "./status.ts";
import { tasksCommand } from "./tasks.ts";

/** Every command, in the order in which the help lists them. A new one is a file of its own and a line here. */
export const COMMANDS: readonly ((cli: Cli) => Command)[] = [
  startCommand,
  checkCommand,
  statusCommand,
  previewCommand,
  ordersCommand,
  messagesCommand,
  queueCommand,
  tasksCommand,
  hl7Command,
  refillsCommand,
  serviceCommand,
  simulatorCommand,
  schemaCommand,
  demoCommand,
];
