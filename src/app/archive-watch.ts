import type pg from "pg";
import type { ArchiveWatch } from "../core/archive-watch.ts";
import { listDueArchived, noteArchived, recordArchiveLook } from "../ledger/messages/archived-files.ts";

/** Remembers archived files in the ledger. */
export function watchArchive(pool: pg.Pool): ArchiveWatch {
  return {
    note: (file) => noteArchived(pool, file),
    listDue: (connector) => listDueArchived(pool, connector),
    record: (file, look) => recordArchiveLook(pool, file, look),
  };
}
