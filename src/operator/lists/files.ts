import { FILE_STATUSES, listFiles } from "../../ledger/messages/file-views.ts";
import { byConnector, choice, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { FILE_COLUMNS, FILE_STATUS_WORDS } from "../things/files.ts";

/** Dropped files. */
export const FILE_LIST = list({
  key: "files",
  help: "List dropped files, newest first.",
  filters: {
    find: search({
      ...{ value: "text", label: "Beginning of the name" },
      help: "only files whose names begin like this",
    }),
    status: choice(FILE_STATUSES, {
      ...{ value: "status", label: "Status", help: "only files with this status" },
      inWords: (status) => FILE_STATUS_WORDS[status],
    }),
    connector: byConnector("files that came"),
    since: since("files that came in "),
  },
  columns: FILE_COLUMNS,
  nothing: (values) =>
    isNarrowedOnlyBy(values, "find") ? `No file's name begins with ${values.find}.` : "No files.",
  read: ({ pool }, { find: name, ...filter }, { limit, after: beforeId }) =>
    listFiles(pool, { name, ...filter, beforeId, limit }),
  page: { kind: "f", of: ({ fileId }) => fileId },
});
