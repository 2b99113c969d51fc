import type { ConnectorConfig } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import type { IncomingMessage } from "../core/intake.ts";
import { phi } from "../core/phi.ts";
import { decodeIncoming } from "../formats/hl7/charset.ts";
import type { StoredMessage } from "../ledger/operator/views.ts";
import type { Profile } from "../mapping/profile/profile.ts";
import { charsetOf } from "./file-format.ts";

/**
 * A message of the ledger as its connector would hand it over today: HL7 bytes are decoded with the present settings.
 *
 * @throws Failure CLI_NOT_APPLICABLE when its text was pruned, or it is of a table whose rows could not be read
 */
export function toIncoming(
  stored: StoredMessage,
  connector: ConnectorConfig,
  profile: Profile,
): IncomingMessage {
  const { raw, ordinal, place, messageId } = stored;
  if (raw === undefined) {
    throw new Failure("CLI_NOT_APPLICABLE", `the text of ${messageId} was pruned by retention`);
  }
  const message = { ordinal, place, raw: phi(raw) };
  if (stored.csvRows) {
    const rows = stored.csvRows.map(([line, cells]) => ({ line, values: new Map(cells) }));
    return { ...message, content: { kind: "csv", rows: phi(rows) } };
  }
  if (profile.format === "csv") {
    throw new Failure(
      "CLI_NOT_APPLICABLE",
      `the rows of ${messageId} could not be read as CSV; correct the file and drop it again`,
    );
  }
  try {
    const { text, encoding } = decodeIncoming(raw, charsetOf(connector, profile));
    return { ...message, content: { kind: "hl7", text: phi(text), encoding } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return {
      ...message,
      content: { kind: "unreadable", problems: [{ code: error.code, place, message: error.message }] },
    };
  }
}
