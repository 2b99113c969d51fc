import type { Filters, List } from "./list.ts";

/** A list of which nobody but itself knows what its entries are. */
export type AnyList = List<unknown, Filters>;

interface Listed {
  /** What its command is for, in the help of the program. */
  readonly help: string;
  /** Loaded when it is needed: the help needs none. */
  readonly load: () => Promise<AnyList>;
  /** Other lists of the command, which stand on its page. */
  readonly besides: readonly string[];
}

const listed = <Row, F extends Filters>(
  help: string,
  load: () => Promise<List<Row, F>>,
  ...besides: readonly string[]
): Listed => ({ help, load: load as unknown as Listed["load"], besides });

/**
 * The lists, in the order of the help and of the console's menu: by the name of the command, which is also the page's and, with
 * a capital letter, the menu's. One that needs more than this line and its own file has files of its name in `src/cli/commands/`
 * and `src/console/pages/`.
 */
export const LISTS = {
  orders: listed("List, show and act on orders.", async () => (await import("./lists/orders.ts")).ORDER_LIST),
  messages: listed(
    "List and show what came in, and map it again.",
    async () => (await import("./lists/messages.ts")).MESSAGE_LIST,
    "waiting",
  ),
  files: listed(
    "List and show dropped files, and what became of them.",
    async () => (await import("./lists/files.ts")).FILE_LIST,
  ),
  results: listed(
    "List, show and send again what goes to the lab.",
    async () => (await import("./lists/results.ts")).RESULT_LIST,
  ),
  tasks: listed(
    "What a person has to see to, and what was seen to.",
    async () => (await import("./lists/tasks.ts")).TASK_LIST,
  ),
  alerts: listed(
    "List, acknowledge and silence alerts, and try the places that they are sent to.",
    async () => (await import("./lists/alerts.ts")).ALERT_LIST,
    "silences",
  ),
  refills: listed(
    "List liquid-nitrogen refills that are followed, and how long ago each tank was refilled.",
    async () => (await import("./lists/refills.ts")).REFILL_LIST,
    "tanks",
  ),
  audit: listed(
    "Who did and saw what, when and why; and whether that record is whole.",
    async () => (await import("./lists/audit.ts")).AUDIT_LIST,
  ),
};
