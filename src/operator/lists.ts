import type { Filters, List } from "./list.ts";

/** A list of which nobody but itself knows what its entries are. */
export type AnyList = List<unknown, Filters>;

interface Listed {
  /** What its command is for, in the help of the program. */
  readonly help: string;
  /** Other lists of the command, which stand on its page. */
  readonly besides?: readonly string[];
  /** Loaded when it is needed: the help needs none. */
  readonly load: () => Promise<AnyList>;
}

const from = <Row, F extends Filters>(load: () => Promise<List<Row, F>>) => load as unknown as Listed["load"];

/**
 * The lists, in the order of the help and of the console's menu: by the name of the command, which is also the page's and, with
 * a capital letter, the menu's. One that needs more than this line and its own file has files of its name in `src/cli/commands/`
 * and `src/console/pages/`.
 */
export const LISTS = {
  orders: {
    help: "List, show and act on orders.",
    load: from(async () => (await import("./lists/orders.ts")).ORDER_LIST),
  },
  messages: {
    help: "List and show what came in, and map it again.",
    besides: ["waiting"],
    load: from(async () => (await import("./lists/messages.ts")).MESSAGE_LIST),
  },
  files: {
    help: "List and show dropped files, and what became of them.",
    load: from(async () => (await import("./lists/files.ts")).FILE_LIST),
  },
  results: {
    help: "List, show and send again what goes to the lab.",
    load: from(async () => (await import("./lists/results.ts")).RESULT_LIST),
  },
  tasks: {
    help: "What a person has to see to, and what was seen to.",
    load: from(async () => (await import("./lists/tasks.ts")).TASK_LIST),
  },
  alerts: {
    help: "List, acknowledge and silence alerts, and try the places that they are sent to.",
    besides: ["silences"],
    load: from(async () => (await import("./lists/alerts.ts")).ALERT_LIST),
  },
  refills: {
    help: "List liquid-nitrogen refills that are followed, and how long ago each tank was refilled.",
    besides: ["tanks"],
    load: from(async () => (await import("./lists/refills.ts")).REFILL_LIST),
  },
  audit: {
    help: "Who did and saw what, when and why; and whether that record is whole.",
    load: from(async () => (await import("./lists/audit.ts")).AUDIT_LIST),
  },
} as const satisfies Readonly<Record<string, Listed>>;
