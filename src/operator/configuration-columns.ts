import { formatId } from "../ledger/ids.ts";
import type { ConfigurationState } from "../ledger/workers/configuration.ts";
import type { WorkerView } from "../ledger/workers/roster.ts";
import type { Column } from "./column.ts";
import { counted } from "./text.ts";

/** A worker whose configuration is known. */
export type ConfiguredWorker = WorkerView & { readonly configuration: ConfigurationState };

/** Of these workers those that live and have said how their configuration stands. */
export function withConfiguration(workers: readonly WorkerView[]): ConfiguredWorker[] {
  return workers.filter(
    (worker): worker is ConfiguredWorker => !worker.endedAt && Boolean(worker.configuration),
  );
}

/** How the configuration of a worker stands. */
export const CONFIGURATION_COLUMNS: readonly Column<ConfiguredWorker>[] = [
  { key: "id", title: "worker", value: ({ id }) => formatId("w", id) },
  { key: "name", title: "name", isFlexible: true },
  { key: "file", title: "file", value: ({ configuration }) => configuration.file, isFlexible: true },
  { key: "since", title: "in use since", value: ({ configuration }) => new Date(configuration.since) },
  {
    title: "state",
    show: ({ configuration: { problems, changed, restart } }) =>
      problems.length > 0
        ? counted(problems.length, "mistake")
        : changed.length > 0
          ? "changed"
          : restart.length > 0
            ? "wants a restart"
            : "up to date",
    paint: ({ configuration: { problems, changed, restart } }) =>
      problems.length > 0 ? "red" : changed.length + restart.length > 0 ? "yellow" : "green",
  },
  {
    title: "what",
    isFlexible: true,
    show: ({ configuration }) =>
      configuration.problems.length > 0
        ? "What was read last without a mistake stays."
        : configurationInWords(configuration),
  },
  { key: "changed", value: ({ configuration }) => configuration.changed },
  { key: "restart", value: ({ configuration }) => configuration.restart },
  { key: "problems", value: ({ configuration }) => configuration.problems },
];

/** What a reload took over, in words that follow a worker's name. */
export function takenOverInWords({
  takenOver = [],
  restart,
}: Pick<ConfigurationState, "takenOver" | "restart">): string {
  if (takenOver.length > 0) return `has taken over ${named(takenOver)}`;
  return restart.length > 0
    ? "can take over nothing of it while it runs"
    : "is up to date; nothing had changed";
}

const MOST_NAMED = 6;

/** How the file differs from what a worker works by; undefined where it doesn't. */
export function configurationInWords({
  changed,
  restart,
  problems,
}: Pick<ConfigurationState, "changed" | "restart" | "problems">): string | undefined {
  if (problems.length > 0) {
    const count = problems.length === 1 ? "a mistake" : `${problems.length} mistakes`;
    return `the file has ${count}, and what was read last without any stays: ${problems[0]}`;
  }
  const words = [
    ...(changed.length > 0 ? [`changed in the file: ${named(changed)}`] : []),
    ...(restart.length > 0 ? [`changed in the file, for a restart: ${named(restart)}`] : []),
  ];
  return words.length === 0 ? undefined : words.join("; ");
}

function named(settings: readonly string[]): string {
  const more = settings.length - MOST_NAMED;
  return [...settings.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(", ");
}
