import { Gauge, type Registry } from "prom-client";
import type { WaitingCode } from "../ledger/messages/waiting.ts";

const KINDS = ["facility", "operation", "earlier"] as const satisfies WaitingCode["kind"][];

/**
 * Gauges about messages that wait for a code; the function that is given back sets them. The codes themselves are no
 * labels: a lab could send any number of them, and in a table whose columns slipped they may be anything.
 */
export function addWaitingMetrics(
  registers: Registry[],
): (waiting: readonly WaitingCode[] | undefined, nowMs: number) => void {
  const messages = new Gauge({
    name: "cryobridge_messages_waiting",
    help: "Messages that wait for a facility or operation code that no table knows, or behind an earlier one of the subject.",
    labelNames: ["kind"],
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_message_waiting_oldest_age_seconds",
    help: "For how long the message that came first has been waiting for a code; 0 when none waits.",
    registers,
  });
  return (waiting, nowMs) => {
    messages.reset();
    oldest.reset();
    if (waiting === undefined) {
      oldest.remove();
      return;
    }
    for (const kind of KINDS) {
      const own = waiting.filter((each) => each.kind === kind);
      messages.set(
        { kind },
        own.reduce((sum, each) => sum + each.messages, 0),
      );
    }
    const first = Math.min(...waiting.map(({ since }) => since.getTime()));
    oldest.set(waiting.length === 0 ? 0 : Math.max(0, (nowMs - first) / 1_000));
  };
}
