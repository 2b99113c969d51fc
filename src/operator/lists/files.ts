import type { Verdict } from "../../core/intake.ts";
import { FILE_STATUSES, type FileView, listFiles } from "../../ledger/messages/file-views.ts";
import { ageColumn, type Column, forPrograms, type Paint } from "../column.ts";
import { byConnector, choice, isNarrowedOnlyBy, list, search, since } from "../list.ts";
import { problemsColumn } from "../message-words.ts";
import { countsInWords } from "../text.ts";
import { PAINT_BY_VERDICT } from "./messages.ts";

/** What becomes of a file, in words. */
export const FILE_STATUS_WORDS: Readonly<Record<FileView["status"], string>> = {
  reading: "being read",
  taken: "taken",
  refused: "refused",
  duplicate: "duplicate",
};

/** How a file's status is coloured; of one that was taken, by what became of its messages. */
export function paintOfFile({ status, verdicts, ordersParked }: FileView): Paint | undefined {
  if (status === "taken" && (ordersParked > 0 || verdicts.waiting || verdicts.refused)) return "yellow";
  return PAINT_BY_FILE_STATUS[status];
}

const PAINT_BY_FILE_STATUS: Readonly<Record<FileView["status"], Paint | undefined>> = {
  reading: undefined,
  taken: "green",
  refused: "red",
  duplicate: "yellow",
};

/** The values of a dropped file, in lists and in its details. */
export const FILE_COLUMNS: readonly Column<FileView>[] = [
  { key: "fileId", title: "id", only: "list", link: ({ fileId }) => `/files/${fileId}` },
  { key: "connector", title: "connector" },
  { key: "fileName", title: "file", isFlexible: true },
  { key: "sizeBytes", title: "size", only: "details", show: ({ sizeBytes }) => `${sizeBytes} bytes` },
  {
    key: "status",
    title: "status",
    only: "list",
    show: ({ status }) => FILE_STATUS_WORDS[status],
    paint: paintOfFile,
  },
  {
    key: "firstFileId",
    title: "duplicate of",
    isLesser: true,
    link: ({ firstFileId }) => firstFileId && `/files/${firstFileId}`,
  },
  { key: "receivedAt", title: "received" },
  ageColumn(({ receivedAt }) => receivedAt),
  { key: "closedAt", title: "done with", only: "details" },
  { key: "verdicts", title: "messages", isFlexible: true, show: messagesOf },
  ...forPrograms<FileView>("isCut", "ordersDone", "ordersOpen", "ordersParked", "resultsSent", "resultsOpen"),
  {
    title: "orders",
    isFlexible: true,
    show: ({ ordersDone, ordersOpen, ordersParked }) =>
      countsInWords({ done: ordersDone, open: ordersOpen, parked: ordersParked }, ""),
  },
  {
    title: "results",
    show: ({ resultsSent, resultsOpen }) =>
      countsInWords({ sent: resultsSent, "to be sent": resultsOpen }, ""),
  },
  problemsColumn(),
];

/** Counts of very many messages are those of the first of them. */
function messagesOf({ verdicts, isCut }: FileView): string {
  const inOrder = Object.keys(PAINT_BY_VERDICT).map((verdict) => [
    verdict,
    verdicts[verdict as Verdict] ?? 0,
  ]);
  const words = countsInWords(Object.fromEntries(inOrder), "");
  return isCut ? `of the first ones ${words}` : words;
}

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
