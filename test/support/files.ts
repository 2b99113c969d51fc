import type pg from "pg";
import type {
  FileOpening,
  IncomingFile,
  IncomingMessage,
  Intake,
  Settlement,
} from "../../src/core/intake.ts";
import type { Claimed } from "../../src/ledger/messages/dropped-files.ts";
import { type Closing, openFile as openClaimed, settleFile } from "../../src/ledger/messages/files.ts";
import type { MessageRecord } from "../../src/ledger/messages/record.ts";

/** A worker that has dropped files in hand. */
export const OWNER = { id: 1, isSure: true };

let claims = 0;

/** Notes a dropped file as claimed by {@link OWNER}. */
export async function claimFile(
  pool: pg.Pool,
  { connector, fileName }: Pick<IncomingFile, "connector" | "fileName">,
): Promise<Claimed> {
  claims += 1;
  const id = `claim-${claims}`;
  const values = [id, connector, fileName, OWNER.id];
  await pool.query(
    "insert into dropped_files (id, connector, file_name, worker) values ($1, $2, $3, $4)",
    values,
  );
  return { id, worker: OWNER.id };
}

/** Opens a file as a worker does that has claimed it. */
export async function openFile(
  pool: pg.Pool,
  file: IncomingFile,
  records: readonly MessageRecord[] = [],
): Promise<FileOpening> {
  return openClaimed(pool, file, await claimFile(pool, file), records);
}

/** Ends a file as one that is to be read again, whoever has it. */
export async function closeFile(
  pool: pg.Pool,
  fileId: string,
  end: Closing["end"],
  answer?: Closing["answer"],
): Promise<void> {
  const { id } = await claimFile(pool, { connector: "lims", fileName: "a" });
  await settleFile(pool, OWNER, { claimId: id, fileId }, { end, answer });
}

/** What ends the attempt at a file that was opened. */
export type EndFile = (close: NonNullable<Settlement["close"]>) => Promise<void>;

/** Has a file and its messages taken by an intake of {@link OWNER}. */
export async function takeFile(
  pool: pg.Pool,
  intake: Intake,
  file: IncomingFile,
  messages: readonly IncomingMessage[],
): Promise<{ readonly opening: FileOpening; readonly end: EndFile }> {
  const { id: claimId } = await claimFile(pool, file);
  const opening = await intake.openFile(file, claimId, messages);
  const { fileId } = opening;
  return { opening, end: async (close) => void (await intake.settleFile({ claimId, fileId, close })) };
}
