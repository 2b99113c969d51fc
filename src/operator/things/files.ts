import { numberOfId } from "../../ledger/ids.ts";
import { type FileView, findFile } from "../../ledger/messages/file-views.ts";
import { listFileMessageViews } from "../../ledger/messages/views.ts";
import { listFileDeliveries } from "../../ledger/operator/views.ts";
import type { Viewer } from "../column.ts";
import { FILE_COLUMNS, FILE_STATUS_WORDS, paintOfFile } from "../lists/files.ts";
import { FILE_MESSAGE_COLUMNS } from "../lists/messages.ts";
import { DELIVERY_COLUMNS } from "../lists/results.ts";
import { type Details, fieldsPart, tablePart } from "../parts.ts";
import type { Place } from "../place.ts";
import type { DetailsPart, Thing } from "../thing.ts";

/** A dropped file. */
export const FILES = {
  ...{ kind: "f", noun: "file", path: "/files" },
  find: findFile,
  numberOf: ({ fileId }) => numberOfId("f", fileId),
  details: {
    help: "Show a file: what is wrong with it, its messages, and the newest results about it.",
    read,
  },
  acts: {},
} as const satisfies Thing<FileView>;

/** Results that are shown, the newest. */
const RESULTS = 20;

async function read(
  { pool }: Place,
  file: FileView,
  viewer: Viewer,
  { limit, after }: DetailsPart = { limit: 50, after: 0 },
): Promise<Details> {
  const { fileId, fileName, status, problems } = file;
  const number = numberOfId("f", fileId);
  const [found, results] = await Promise.all([
    listFileMessageViews(pool, number, after, limit + 1),
    listFileDeliveries(pool, number, RESULTS),
  ]);
  const messages = found.slice(0, limit);
  const last = messages.at(-1);
  const hasMore = found.length > limit;
  const words = `There are more than these ${limit}: --limit shows more.`;
  return {
    heading: {
      ...{ name: `File ${fileId}, ${fileName}`, state: FILE_STATUS_WORDS[status], paint: paintOfFile(file) },
    },
    parts: [
      fieldsPart(FILE_COLUMNS, file, viewer),
      {
        ...{ kind: "problems", name: "problems", title: "What is wrong with it", problems },
      },
      tablePart(
        "messages",
        {
          title: after > 0 ? `Messages after the first ${after}` : "Messages",
          ...{ columns: FILE_MESSAGE_COLUMNS, rows: messages, nothing: "No message was taken of it." },
          more: hasMore && last ? { words, after: String(last.ordinal) } : undefined,
        },
        viewer,
      ),
      { kind: "json", name: "more", json: { hasMore } },
      tablePart(
        "results",
        {
          ...{ title: "The newest results about it", columns: DELIVERY_COLUMNS, rows: results },
          nothing: "Nothing was sent.",
        },
        viewer,
      ),
    ],
  };
}
