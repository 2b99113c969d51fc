import type { Command } from "commander";
import type pg from "pg";
import { createMappers, profileOf } from "../app/connectors.ts";
import { compileProfiles } from "../app/profiles.ts";
import type { Config, ConnectorConfig } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import type { IncomingMessage, MessageVerdict } from "../core/intake.ts";
import { phi } from "../core/phi.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { toRecord } from "../jobs/intake.ts";
import { commitMessages } from "../ledger/commit-messages.ts";
import { parseId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator.ts";
import type { StoredMessage } from "../ledger/views.ts";
import type { Mapper } from "../mapping/mapper.ts";
import type { Profile } from "../mapping/profile.ts";
import type { ProfileDefinition } from "../mapping/profile-schema.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { getMessage } from "./messages-show.ts";
import { problemLines } from "./problem-lines.ts";
import type { Session } from "./session.ts";

/** A message that was mapped anew. */
interface Replayed {
  readonly messageId: string;
  readonly verdict: MessageVerdict;
}

/** `messages replay`: status 1 when one of the messages is refused again. */
export async function replayMessagesCommand(
  session: Session,
  command: Command,
): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const options = command.opts<{ reason?: string; yes?: boolean }>();
  const config = readConfig(session);
  const profiles = await compileProfiles(config);
  const mappers = createMappers(config, profiles);
  const replayed = await withLedger(session, config, async ({ pool }) => {
    const messages: StoredMessage[] = [];
    for (const word of new Set(words)) messages.push(await getMessage(pool, word));
    // All are made ready before the first is committed, so that a mistake in the list does nothing by halves.
    const ready = messages.map((message) => prepare(message, config, profiles, mappers));
    if (messages.length > 1 && !(await confirm(session, `Replay ${messages.length} messages?`, options.yes)))
      return undefined;
    const results: Replayed[] = [];
    for (const one of ready)
      results.push(await replay(pool, one, { actor: session.actor, reason: options.reason }));
    return results;
  });
  if (replayed === undefined) return EXIT.failed;
  tell(replayed, session);
  return replayed.some(({ verdict }) => verdict.verdict === "refused") ? EXIT.failed : undefined;
}

interface Ready {
  readonly stored: StoredMessage;
  readonly incoming: IncomingMessage;
  readonly mapper: Mapper;
}

function prepare(
  stored: StoredMessage,
  config: Config<ProfileDefinition>,
  profiles: ReadonlyMap<string, Profile>,
  mappers: ReadonlyMap<string, Mapper>,
): Ready {
  const connector = config.connectors.find(({ name }) => name === stored.connector);
  const mapper = mappers.get(stored.connector);
  if (!connector || !mapper) {
    throw new Failure(
      "CLI_NOT_APPLICABLE",
      `${stored.messageId} came through connector ${stored.connector}, which the configuration doesn't have any more`,
    );
  }
  return { stored, incoming: toIncoming(stored, connector, profileOf(connector, profiles)), mapper };
}

/** The message as its connector would hand it over today: HL7 bytes are decoded with the present settings. */
function toIncoming(stored: StoredMessage, connector: ConnectorConfig, profile: Profile): IncomingMessage {
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
    const { text, encoding } = decodeHl7(raw, { override: connector.encoding ?? profile.encoding });
    return { ...message, content: { kind: "hl7", text: phi(text), encoding } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return {
      ...message,
      content: { kind: "unreadable", problems: [{ code: error.code, place, message: error.message }] },
    };
  }
}

async function replay(
  pool: pg.Pool,
  { stored, incoming, mapper }: Ready,
  act: { readonly actor: string; readonly reason: string | undefined },
): Promise<Replayed> {
  const { messageId, connector } = stored;
  await recordAudit(pool, act, "replay", [{ target: messageId, detail: { reason: act.reason } }]);
  const [verdict] = await commitMessages(pool, {
    fileId: null,
    connector,
    replayOf: parseId("m", messageId) as number,
    records: [toRecord(mapper, incoming)],
  });
  if (!verdict) throw new TypeError(`the ledger gave no verdict for ${messageId}`);
  return { messageId, verdict };
}

function tell(replayed: readonly Replayed[], session: Session): void {
  if (session.isJson) {
    session.json({
      results: replayed.map(({ messageId, verdict }) => ({
        messageId,
        verdict: verdict.verdict,
        orderIds: verdict.orders.map(({ orderId }) => orderId),
        problems: verdict.problems,
      })),
    });
    return;
  }
  for (const { messageId, verdict } of replayed) {
    const orders = verdict.orders.map(({ orderId }) => orderId).join(" ");
    const words = {
      accepted: `accepted: ${orders}`,
      duplicate: `nothing new: its orders exist already (${orders})`,
      refused: "refused again",
      ignored: "of a type that the profile ignores",
    }[verdict.verdict];
    session.line(`${messageId} ${words}`);
    for (const line of problemLines(verdict.problems)) session.line(`  ${line}`);
  }
}
