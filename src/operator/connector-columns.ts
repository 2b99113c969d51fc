import type { Column, Viewer } from "./column.ts";
import { nextTryInWords, relativeTime } from "./times.ts";

/** A connector of a daemon, and what went through it. */
export interface ConnectorView {
  readonly connector: string;
  readonly type: string;
  /** Whether the daemon takes what comes in through it. */
  readonly isTaking: boolean;
  /** Why intake doesn't work. */
  readonly trouble: string | null;
  /** What somebody should know though it works. */
  readonly warning: string | null;
  /** The lab takes no results, and is tried again after a pause. */
  readonly isLabAway: boolean;
  /** Whether the lab ever took a result; null while that is not known. */
  readonly hasTakenResults: boolean | null;
  /** Since when, and when it is tried next, by the daemon that sends its results; null while it takes them, or where another one does. */
  readonly labOutage: { readonly since: string; readonly nextTryAt: string } | null;
  /** Open ones, of a connector that listens. */
  readonly connections: number | null;
  /** Null where nothing came yet. This and the counts are undefined while they are not known. */
  readonly lastMessageAt: Date | null | undefined;
  /** Messages of the last 24 hours, and results. */
  readonly received: number | undefined;
  readonly refused: number | undefined;
  readonly sent: number | undefined;
  readonly receivedLastHour: number | undefined;
  /** Dropped files that are not taken. */
  readonly untakenFiles: number | undefined;
}

/** A connector. How it is stands first: a narrow window cuts what comes last. */
export const CONNECTOR_COLUMNS: readonly Column<ConnectorView>[] = [
  {
    key: "connector",
    title: "connector",
    link: ({ connector }) => `/messages?connector=${encodeURIComponent(connector)}`,
  },
  {
    title: "intake",
    show: intakeInWords,
    paint: ({ isTaking, trouble }) => (!isTaking ? "dim" : trouble === null ? "green" : "red"),
  },
  {
    title: "lab",
    show: labInWords,
    paint: ({ isLabAway, hasTakenResults }) => (isLabAway ? "red" : hasTakenResults ? "green" : "dim"),
  },
  { title: "note", isFlexible: true, show: ({ trouble, warning }) => trouble ?? warning },
  {
    title: "connected",
    isRight: true,
    isLesser: true,
    show: ({ connections }) => connections,
  },
  {
    key: "lastMessageAt",
    title: "last message",
    show: ({ lastMessageAt: at }, { clock }) =>
      at === null ? "none yet" : at && relativeTime(at, clock.now()),
  },
  { key: "received", title: "received", isRight: true },
  {
    key: "refused",
    title: "refused",
    isRight: true,
    link: ({ connector, refused }) =>
      refused ? `/messages?connector=${encodeURIComponent(connector)}&verdict=refused` : undefined,
  },
  { key: "sent", title: "sent", isRight: true },
  { key: "receivedLastHour", title: "last hour", isRight: true, isLesser: true },
  { key: "untakenFiles", title: "files not taken", isRight: true, isLesser: true },
  { key: "type" },
  { key: "isTaking" },
  { key: "trouble" },
  { key: "warning" },
  { key: "isLabAway" },
  { key: "labOutage" },
  { key: "hasTakenResults" },
  { key: "connections" },
];

function labInWords({ isLabAway, labOutage, hasTakenResults }: ConnectorView, { clock }: Viewer): string {
  if (isLabAway)
    return `✗ takes no results${nextTryInWords(labOutage?.nextTryAt, clock.now()) || ", is tried again"}`;
  if (hasTakenResults === null) return "";
  return hasTakenResults ? "✓ takes results" : "no result taken yet";
}

function intakeInWords({ isTaking, trouble, type }: ConnectorView): string {
  if (!isTaking) return "another daemon takes";
  if (trouble !== null) return "✗ in trouble";
  return type === "mllp" ? "✓ listens" : "✓ looks for files";
}
