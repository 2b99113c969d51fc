import type { Orphaned } from "../../ledger/results/orphaned.ts";
import { counted } from "../text.ts";

/** What waits of a connector, in words: `3 results and 1 order in work`. */
export function countOrphaned({ results, orders, messages }: Orphaned): string {
  const parts = [
    ...(results > 0 ? [counted(results, "result")] : []),
    ...(orders > 0 ? [`${counted(orders, "order")} in work`] : []),
    ...(messages > 0 ? [counted(messages, "message")] : []),
  ];
  const last = parts.pop() ?? "nothing";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** What is the matter: one sentence without its end. */
export function describeOrphaned(left: Orphaned): string {
  return `the configuration names no connector ${left.connector}, and there are ${countOrphaned(left)} of it, of which the lab is sent nothing`;
}

/** How to go on with it. */
export function hintForOrphaned({ connector, results, orders, messages }: Orphaned): string {
  const again = `Name ${connector} in the configuration again`;
  if (results + orders === 0) return `${again}.`;
  const rest = messages > 0 ? " Its messages need the connector itself." : "";
  return `${again}, or give its orders and results to another one: \`cryobridge queue move --from ${connector} --to NAME\`.${rest}`;
}
