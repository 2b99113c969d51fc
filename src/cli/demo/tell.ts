import { join } from "node:path";
import { isTerminal } from "../../core/order-state.ts";
import { clean } from "../clean.ts";
import type { LedgerView } from "./ledger-view.ts";
import { KEYS_HELP } from "./play.ts";
import { readResults } from "./results.ts";
import { type Screen, shownPath } from "./screen.ts";
import { type Sample, SENDERS } from "./senders.ts";
import { countByState } from "./summary.ts";
import type { Unfinished } from "./unfinished.ts";

/** The first line, while everything else is still being started. */
export function tellTitle(screen: Screen, version: string): void {
  screen.line(screen.paint("bold", `Cryobridge ${version}, a demonstration on this machine alone`));
  screen.line(screen.paint("dim", "Starting a simulated service, a database and the daemon …"));
  screen.line();
}

/** What was started, and where to look and drop. */
export interface Introduction {
  readonly folder: string;
  readonly configFile: string;
  readonly logFile: string;
  readonly daemonPid: number;
  readonly speed: number;
  readonly serviceUrl: string;
  readonly consoleUrl: string;
  readonly samples: readonly Sample[];
  /** Whether a person can press keys. */
  readonly hasKeys: boolean;
}

/** What runs, where the console and the simulator are, where files go and come. */
export function introduce(screen: Screen, intro: Introduction): void {
  const count = (wanted: Sample["kind"]) => intro.samples.filter(({ kind }) => kind === wanted).length;
  screen.field("started", `a simulated storage service, ${intro.speed} times as fast as a real one`);
  screen.field("", `the Cryobridge daemon, process ${intro.daemonPid}, with a database of its own`);
  screen.field("settings", `${shownPath(intro.configFile)}, log in ${shownPath(intro.logFile)}`);
  screen.field("console", intro.consoleUrl);
  screen.field("simulator", `${intro.serviceUrl} (play the facility's staff and device there)`);
  for (const [type, name] of [
    ["hl7-drop", "drop HL7"],
    ["csv-drop", "drop CSV"],
  ] as const) {
    const inboxes = SENDERS.filter((sender) => sender.type === type).map(({ name }) =>
      shownPath(join(intro.folder, name, "in")),
    );
    screen.field(name, inboxes.join("  "));
  }
  screen.field("results", "in out/ beside each in/; refused files in error/ with the reasons");
  if (intro.hasKeys) screen.field("keys", KEYS_HELP);
  screen.line();
  screen.line(
    `${count("good")} sample files of invented patients are dropped now, ${count("broken")} broken ones, and ${count("waiting")} with a code that is unknown as yet. A line for each step:`,
  );
  screen.line();
}

/** The end of the samples: how they ended, what the lab has got, where to look on. */
export async function tellDone(
  screen: Screen,
  { folder, configFile }: Pick<Introduction, "folder" | "configFile">,
  view: LedgerView,
): Promise<void> {
  screen.line();
  const refused = view.files.filter(({ problems }) => problems.length > 0).length;
  screen.line(
    screen.paint(
      ["bold", "green"],
      `Done: all ${view.orders.length} orders are at their end and written back.`,
    ),
  );
  for (const { state, count, names } of countByState(view.orders)) {
    screen.field(state, `${count}${state === "completed" ? "" : ` (${names.join(", ")})`}`);
  }
  screen.field("refused", `${refused} files, whole or in part`);
  for (const { kind, code = "", messages } of view.waiting) {
    const what = kind === "earlier" ? "an earlier one" : `the ${kind} ${clean(code)}`;
    screen.field("waiting", `${messages} for ${what} (npx cryobridge messages waiting)`);
  }
  screen.line();
  screen.line(screen.paint("bold", "Results for the lab"));
  for (const { sender, files, counts } of await readResults(folder)) {
    const kinds = counts.map(([kind, count]) => `${count} ${kind}`).join(", ");
    screen.field(sender, `${String(files).padStart(2)} files: ${kinds}`);
  }
  screen.line(
    `  They are in ${shownPath(join(folder, "*", "out"))}; refused files and reasons in ${shownPath(join(folder, "*", "error"))}.`,
  );
  screen.line();
  const options = `--config ${shownPath(configFile)}`;
  const failed = view.orders.find(({ state }) => state === "failed");
  screen.line(screen.paint("bold", "Look closer"));
  screen.line(`  npx cryobridge orders list ${options}`);
  screen.line(`  npx cryobridge orders show ${failed?.placerOrderNumber ?? "NL-1001"} ${options}`);
}

/** What is missing, in words; the orders that are at their end are counted. */
export function tellUnfinished(screen: Screen, unfinished: readonly Unfinished[], view: LedgerView): void {
  const ended = view.orders.filter(({ state }) => isTerminal(state)).length;
  screen.line();
  screen.line(
    screen.paint(
      ["bold", "red"],
      `Not done: ${ended} of ${view.orders.length} orders are at their end, and this is missing:`,
    ),
  );
  for (const { words } of unfinished) screen.line(`  ${words}`);
}
