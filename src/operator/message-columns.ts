import { type Problem, problemSentence, shownProblem } from "../core/failures.ts";
import { placeText } from "../core/place.ts";
import type { MessageView } from "../ledger/messages/views.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { Mapped } from "./acts.ts";
import { ageColumn, type Column } from "./column.ts";
import { PAINT_BY_VERDICT } from "./order-columns.ts";
import type { Known } from "./ready-hint.ts";
import { clean } from "./text.ts";

/** A message may have thousands; people are shown this many ids. */
const ORDERS = 20;

/** Where a message stands in its file. */
export const MESSAGE_PLACE: Column<MessageView> = {
  key: "place",
  title: "place",
  value: ({ place }) => placeText(place),
};

/** The values of a message that lists show too. */
export const MESSAGE_COLUMNS: readonly Column<MessageView>[] = [
  {
    key: "messageId",
    title: "id",
    only: "list",
    link: ({ messageId }) => `/messages/${messageId}`,
  },
  { key: "connector", title: "connector" },
  {
    key: "fileName",
    title: "file",
    isFlexible: true,
    show: ({ fileName, replayOf }) => fileName ?? (replayOf && `replay of ${replayOf}`),
    link: ({ fileId, replayOf }) =>
      fileId === undefined ? replayOf && `/messages/${replayOf}` : `/files/${fileId}`,
  },
  { key: "fileId" },
  MESSAGE_PLACE,
  { key: "messageType", title: "type" },
  { key: "messageControlId", title: "control id", isFlexible: true },
  { key: "verdict", title: "verdict", only: "list", paint: ({ verdict }) => PAINT_BY_VERDICT[verdict] },
  { key: "receivedAt", title: "received" },
  ageColumn(({ receivedAt }) => receivedAt),
  {
    key: "duplicateOf",
    title: "duplicate of",
    only: "details",
    link: ({ duplicateOf }) => duplicateOf && `/messages/${duplicateOf}`,
  },
  {
    key: "replayOf",
    title: "replay of",
    only: "details",
    link: ({ replayOf }) => replayOf && `/messages/${replayOf}`,
  },
  {
    key: "orderIds",
    title: "orders",
    isFlexible: true,
    show: ({ orderIds }) =>
      [
        ...orderIds.slice(0, ORDERS),
        orderIds.length > ORDERS && `and ${orderIds.length - ORDERS} more`,
      ].filter(Boolean),
    link: ({ messageId, orderIds: [first, ...others] }) =>
      first && (others.length > 0 ? `/messages/${messageId}` : `/orders/${first}`),
  },
  problemsColumn(),
];

/** What every message of a file has alike. */
const OF_THE_FILE = ["connector", "fileName"];

/** The values of a message in the list of its file. */
export const FILE_MESSAGE_COLUMNS = MESSAGE_COLUMNS.filter(
  ({ key }) => key === undefined || !OF_THE_FILE.includes(key),
);

interface WithProblems {
  readonly problems: readonly Problem[];
}

/** What is wrong with a message or file; a list says the first. */
export function problemsColumn<Row extends WithProblems>(): Column<Row> {
  return {
    key: "problems",
    title: "problem",
    only: "list",
    isFlexible: true,
    value: ({ problems }) => problems.map(shownProblem),
    show: firstProblem,
  };
}

function firstProblem({ problems: [first, ...others] }: WithProblems): string {
  if (!first) return "";
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return `${problemSentence(first)}${more}`;
}

const KIND_WORDS = {
  facility: "a facility",
  operation: "an operation",
  earlier: "an earlier message",
} as const satisfies Record<WaitingCode["kind"], string>;

/** The values of what messages wait for. */
export const WAITING_COLUMNS: readonly Column<WaitingCode>[] = [
  { key: "kind", title: "waits for", show: ({ kind }) => KIND_WORDS[kind] },
  { key: "code", title: "code", isFlexible: true },
  { key: "connector", title: "connector" },
  { key: "messages", title: "messages", isRight: true },
  { key: "since", title: "since" },
  ageColumn(({ since }) => since),
  { key: "hint" },
];

/** What messages wait for, in words that follow "for". */
export function whatFor({ kind, code = "" }: Pick<WaitingCode, "kind" | "code">): string {
  if (kind === "earlier")
    return `an earlier message of the same subject or order${code === "" ? "" : `, which waits for "${clean(code)}"`}`;
  return `the ${kind} "${clean(code)}"`;
}

const KIND_BY_PROBLEM: Readonly<Record<string, WaitingCode["kind"]>> = {
  MAPPING_FACILITY_UNKNOWN: "facility",
  MAPPING_OPERATION_UNKNOWN: "operation",
};

/** What became of a message of which there is no order, such as `waits for the facility "EAST"`. */
export function whyNoOrder(message: MessageView): string {
  const { verdict, problems } = message;
  switch (verdict) {
    case "waiting": {
      const { code = "", unknownCode } =
        problems.find((problem) => problem.unknownCode !== undefined) ?? problems[0] ?? {};
      return `waits for ${whatFor({ kind: KIND_BY_PROBLEM[code] ?? "earlier", code: unknownCode })}`;
    }
    case "refused":
      return `was refused: ${clean(firstProblem(message))}`;
    case "duplicate":
      return "is a duplicate";
    case "ignored":
      return "was ignored";
    case "accepted":
      return "was accepted";
  }
}

/** What became of a message that was mapped again, in words that follow its id. */
export function mappedInWords({ verdict, orderIds }: Mapped, refused: string): string {
  const orders = orderIds.join(" ");
  return {
    accepted: `accepted: ${orders}`,
    duplicate: `nothing new: its orders exist already (${orders})`,
    refused,
    ignored: "of a type that the profile ignores",
    waiting: "waits",
  }[verdict];
}

/** What the hints of a message's problems are about. */
export function knownOf({ messageId, orderIds }: Pick<MessageView, "messageId" | "orderIds">): Known {
  return { message: messageId, order: orderIds.length === 1 ? orderIds[0] : undefined };
}

/** Why messages wait on after a release, by the connectors that are configured now; undefined where a hint is missing. */
export function whyStillWaiting(
  { connector, hint }: WaitingCode,
  connectors: readonly string[],
): string | undefined {
  return connectors.includes(connector)
    ? hint
    : "The configuration has no such connector any more: put it back, or `cryobridge messages discard ID --reason TEXT`.";
}
