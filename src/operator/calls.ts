import type { OrderCall } from "../ledger/orders/calls.ts";
import { type Column, forPrograms } from "./column.ts";
import { clean } from "./text.ts";
import { localTime } from "./times.ts";

/** A call of an order with what it sent; undefined for a subject, a presumed one and what was pruned. */
export type ShownCall = OrderCall & { readonly sent: unknown };

/** A call of an order, for programs. */
export const CALL_COLUMNS: readonly Column<ShownCall>[] = [
  ...forPrograms<ShownCall>("at", "kind", "isPresumed", "isPlanned", "surface", "answer", "failure"),
  { key: "outcome", value: ({ outcome }) => outcome ?? "open" },
  ...forPrograms<ShownCall>("serviceId", "endedAt"),
  { key: "nextLookAt", value: ({ lookAt }) => lookAt },
  { key: "sent" },
];

/** A call of an order in words: what it was to do, what came back, and what became of it. */
export function describeCall(call: OrderCall): string {
  const { failure, answer, outcome } = call;
  const said = failure
    ? `${failure.text} (${failure.code})`
    : answer === "taken"
      ? "answered as done"
      : undefined;
  const known = call.isPresumed || call.isPlanned || outcome === "made" || outcome === "not_sent";
  const back = said ?? (known ? undefined : "no answer");
  return clean([purpose(call), back, become(call)].filter((each) => each !== undefined).join("; "));
}

function purpose(call: OrderCall): string {
  if (call.isPresumed) {
    return call.outcome === "made" && call.lookAt === undefined && call.checks === 0 && call.isApproved
      ? "linked by a person"
      : "a call that may have left, which the restored ledger does not know";
  }
  if (call.kind === "subject") return "registers the subject";
  return call.kind === "cancel" ? `cancels ${named(call)}` : `creates the ${nameOf(call)}`;
}

function become(call: OrderCall): string {
  if (call.isPlanned && call.outcome === undefined)
    return call.lookAt ? `leaves at ${localTime(call.lookAt)}` : "still to leave";
  switch (call.outcome) {
    case "made":
      return call.kind === "cancel" ? "it is cancelled" : `made ${named(call)}`;
    case "refused":
      return `nothing was done${later(call)}`;
    case "not_sent":
      return "it never left";
    case "nothing":
      return `nothing was found of it${later(call)}`;
    default:
      return call.lookAt
        ? `the service is searched for it, next at ${localTime(call.lookAt)}`
        : "not known yet what it did";
  }
}

function later({ lookAt }: OrderCall): string {
  return lookAt === undefined ? "" : `; looked for once more at ${localTime(lookAt)}`;
}

function nameOf({ surface }: OrderCall): string {
  return surface === "external" ? "procedure" : "procedure request";
}

function named(call: OrderCall): string {
  const { kind, surface, serviceId } = call;
  const what = kind === "subject" ? "subject" : surface === "external" ? "procedure" : "request";
  return serviceId === undefined ? `the ${what}` : `${what} ${serviceId}`;
}
