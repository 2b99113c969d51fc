import type { IncomingMessage } from "../core/intake.ts";
import type { MessageRecord } from "../ledger/message-record.ts";

/** Messages that were mapped without a break. */
export interface Piece {
  readonly records: readonly MessageRecord[];
  /** Of the messages as they came. */
  readonly bytes: number;
}

/** Where a piece ends: whichever comes first. One message is never cut. */
const PIECE = { ms: 20, messages: 250, bytes: 1024 * 1024 };

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Maps messages piece by piece, with a turn of the event loop between two pieces, so that a file or a frame with many
 * messages keeps nobody else waiting. `hand` gets the pieces in the order of the messages.
 *
 * @returns undefined where one piece was enough: all of it is done then
 */
export function mapInTurns(
  messages: readonly IncomingMessage[],
  map: (message: IncomingMessage) => MessageRecord,
  hand: (piece: Piece) => void,
): Promise<void> | undefined {
  let next = 0;
  const mapPiece = (): boolean => {
    const records: MessageRecord[] = [];
    const until = performance.now() + PIECE.ms;
    let bytes = 0;
    for (let message = messages[next]; message !== undefined; message = messages[next]) {
      records.push(map(message));
      bytes += message.raw.reveal().length;
      next += 1;
      if (records.length >= PIECE.messages || bytes >= PIECE.bytes || performance.now() >= until) break;
    }
    hand({ records, bytes });
    return next < messages.length;
  };
  const goOn = async (): Promise<void> => {
    do await nextTurn();
    while (mapPiece());
  };
  return mapPiece() ? goOn() : undefined;
}
