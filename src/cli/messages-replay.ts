import type { Command } from "commander";
import type pg from "pg";
import { createMappers, profileOf } from "../app/connectors.ts";
import { compileProfiles } from "../app/profiles.ts";
import { toIncoming } from "../app/stored-message.ts";
import type { Config } from "../config/config.ts";
import { Failure } from "../core/failures.ts";
import type { IncomingMessage, MessageVerdict } from "../core/intake.ts";
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
  // As a message of its own it would become orders, and the one that waits would become them once more.
  if (stored.verdict === "waiting") {
    throw new Failure(
      "CLI_NOT_APPLICABLE",
      `${stored.messageId} waits; cryobridge messages release takes it up as soon as its codes are known`,
    );
  }
  return { stored, incoming: toIncoming(stored, connector, profileOf(connector, profiles)), mapper };
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
      waiting: "waits",
    }[verdict.verdict];
    session.line(`${messageId} ${words}`);
    for (const line of problemLines(verdict.problems)) session.line(`  ${line}`);
  }
}
