import type { JournalState } from "../ledger/journal/journal.ts";

/** The ledger has what stands in a journal within 2 s, also in a storm; what is older lies there because it takes none. */
const LATE_SECONDS = 5;

/** What is wrong with journals, each finding one sentence for people; empty when all is well. */
export function tellJournals(journals: readonly JournalState[]): string[] {
  return journals.flatMap((journal) => [
    ...(journal.isUsable ? [] : [tellUnusable(journal)]),
    ...(journal.messages > 0 && journal.oldestSeconds > LATE_SECONDS ? [tellLate(journal)] : []),
  ]);
}

function tellUnusable({ connector }: JournalState): string {
  return `the journal of connector ${connector} is out of use since a write to it failed: messages are still taken, straight into the ledger and more slowly. Look at the data folder's disk, then restart`;
}

function tellLate({ connector, messages, oldestSeconds }: JournalState): string {
  const what =
    messages === 1
      ? `1 acknowledged message of connector ${connector} is`
      : `${messages} acknowledged messages of connector ${connector} are`;
  return `${what} on disk in the journal only: the ledger has taken none for ${Math.floor(oldestSeconds)} s`;
}
