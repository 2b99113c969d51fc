import type { LeftBehind } from "../ledger/left-behind.ts";

/** Whether somebody has to see to it: orders whose results go out through another connector need nobody. */
export function needsPerson({ results, messages, movedTo }: LeftBehind): boolean {
  return results > 0 || messages > 0 || movedTo === undefined;
}

/** What waits of a connector, in words: `3 results and 1 order in work`. */
export function countLeftBehind({ results, orders, messages }: LeftBehind): string {
  const parts = [
    ...(results > 0 ? [`${results} ${results === 1 ? "result" : "results"}`] : []),
    ...(orders > 0 ? [`${orders} ${orders === 1 ? "order" : "orders"} in work`] : []),
    ...(messages > 0 ? [`${messages} ${messages === 1 ? "message" : "messages"}`] : []),
  ];
  const last = parts.pop() ?? "nothing";
  return parts.length === 0 ? last : `${parts.join(", ")} and ${last}`;
}

/** What is the matter: one sentence without its end. */
export function tellLeftBehind(left: LeftBehind): string {
  return `the configuration names no connector ${left.connector}, and there are ${countLeftBehind(left)} of it, whose lab hears nothing`;
}

/** How to go on with it. */
export function hintLeftBehind({ connector, results, orders, messages }: LeftBehind): string {
  const again = `Name ${connector} in the configuration again`;
  if (results + orders === 0) return `${again}.`;
  const rest = messages > 0 ? " Its messages need the connector itself." : "";
  return `${again}, or have its results go out through another connector: \`cryobridge queue move --from ${connector} --to NAME\`.${rest}`;
}
