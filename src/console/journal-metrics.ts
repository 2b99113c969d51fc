import { Gauge, type Registry } from "prom-client";
import type { JournalState } from "../ledger/journal/journal.ts";

/** Adds the gauges about the journals in front of the ledger; gives what sets them. Where there is no journal they are absent. */
export function addJournalMetrics(registers: Registry[]): (journals: readonly JournalState[]) => void {
  const labelNames = ["connector"];
  const messages = new Gauge({
    name: "cryobridge_journal_messages",
    help: "Acknowledged messages that are in the journal and not yet in the ledger, by connector.",
    labelNames,
    registers,
  });
  const oldest = new Gauge({
    name: "cryobridge_journal_oldest_age_seconds",
    help: "For how long the oldest of them has been there, by connector; 0 when there is none.",
    labelNames,
    registers,
  });
  const usable = new Gauge({
    name: "cryobridge_journal_usable",
    help: "1 while the connector's journal can be used, 0 after a failed write until the next start.",
    labelNames,
    registers,
  });
  return (journals) => {
    for (const gauge of [messages, oldest, usable]) gauge.reset();
    for (const { connector, ...state } of journals) {
      messages.set({ connector }, state.messages);
      oldest.set({ connector }, state.oldestSeconds);
      usable.set({ connector }, state.isUsable ? 1 : 0);
    }
  };
}
