import { type Problem, problemSentence, shownProblem } from "../core/failures.ts";
import type { MessageView } from "../ledger/messages/views.ts";
import type { WaitingCode } from "../ledger/messages/waiting.ts";
import type { Mapped } from "./acts.ts";
import type { Column } from "./column.ts";
import type { Known } from "./ready-hint.ts";
import { clean } from "./text.ts";

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
