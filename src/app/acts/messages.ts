import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { commitMessages } from "../../ledger/messages/commit.ts";
import { discardMessage } from "../../ledger/messages/release.ts";
import type { MessageView, StoredMessage } from "../../ledger/messages/views.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import { type Act, recordAudit } from "../../ledger/operator/audit.ts";
import { closeTaskOfMessage } from "../../ledger/operator/tasks.ts";
import type { Profile } from "../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { Acted, Mapped, Released, ReleaseFilter } from "../../operator/acts.ts";
import { createMappers, profileOf } from "../connectors.ts";
import { releaseWaiting, toIncoming } from "../intake.ts";
import { compileProfiles } from "../profiles.ts";

interface MessageSite {
  readonly pool: pg.Pool;
  readonly config: Config<ProfileDefinition>;
  /** Those that a daemon works by; compiled for the act unless given. */
  readonly profiles?: ReadonlyMap<string, Profile> | undefined;
}

/** Maps a stored message once more and commits what comes of it. */
type Replay = (pool: pg.Pool, act: Act) => Promise<Mapped>;

/**
 * Makes stored messages ready to be mapped by the configuration as it is now.
 *
 * @returns a function that throws Failure CLI_NOT_APPLICABLE for a message that can't be replayed
 */
export async function createReplay({
  config,
  profiles: known,
}: Omit<MessageSite, "pool">): Promise<(stored: StoredMessage) => Replay> {
  const profiles = known ?? (await compileProfiles(config));
  const mappers = createMappers(config, profiles);
  return (stored) => {
    const { messageId, connector: name } = stored;
    const connector = config.connectors.find((each) => each.name === name);
    const mapper = mappers.get(name);
    if (!connector || !mapper) {
      const why = `${messageId} came through connector ${name}, which the configuration doesn't have any more`;
      throw new Failure("CLI_NOT_APPLICABLE", why);
    }
    // As a message of its own it would become orders, and the one that waits would become them once more.
    if (stored.verdict === "waiting") {
      const why = `${messageId} waits; \`cryobridge messages release\` maps it as soon as its codes are known`;
      throw new Failure("CLI_NOT_APPLICABLE", why);
    }
    const incoming = toIncoming(stored, connector, profileOf(connector, profiles));
    return async (pool, act) => {
      await recordAudit(pool, act, "replay", [{ target: messageId, detail: { reason: act.reason } }]);
      const [made] = await commitMessages(pool, {
        fileId: null,
        connector: name,
        replayOf: numberOf(messageId),
        records: [{ ...mapper.map(incoming), message: incoming }],
      });
      if (!made) throw new TypeError(`the ledger gave no verdict for ${messageId}`);
      const { verdict, orders, problems } = made;
      // Nobody has to see to its refusal any more.
      if (verdict === "accepted" || verdict === "duplicate")
        await closeTaskOfMessage(pool, numberOf(messageId), { ...act, reason: "replayed and accepted" });
      return { messageId, verdict, orderIds: orders.map(({ orderId }) => orderId), problems };
    };
  };
}

/** Maps what waits again, by the configuration as it is now, in the order in which it was received. */
export async function releaseMessages(
  { pool, config, profiles: known }: MessageSite,
  filter: ReleaseFilter,
  act: Act,
  onReleased: (message: Mapped) => void,
): Promise<Released> {
  const { code, connector } = filter;
  const isMeant = (each: WaitingCode) =>
    (code === undefined || each.code === code) && (connector === undefined || each.connector === connector);
  const profiles = known ?? (await compileProfiles(config));
  const before = (await listWaitingCodes(pool)).filter(isMeant);
  const detail = { code, connector };
  await recordAudit(pool, act, "release", [{ target: "messages", detail }]);
  await releaseWaiting(pool, config, profiles, filter, onReleased);
  return { before, left: await listWaitingCodes(pool) };
}

/** Gives up messages that wait; what waited for them may go on. */
export async function discardMessages<T>(
  { pool, config, profiles: known }: MessageSite,
  act: Act,
  work: (discard: (message: MessageView) => Promise<Acted>) => Promise<T>,
): Promise<T> {
  const profiles = known ?? (await compileProfiles(config));
  let hasDiscarded = false;
  const done = await work(async ({ messageId, verdict, connector }) => {
    const isDone = await discardMessage(pool, numberOf(messageId), act);
    if (!isDone) return [false, `can't be discarded: it doesn't wait (${verdict})`];
    hasDiscarded = true;
    const settings = config.connectors.find(({ name }) => name === connector);
    const isSent =
      settings === undefined || profiles.get(settings.profile)?.results.send.has("refused") === true;
    return [
      true,
      isSent
        ? "is discarded; a refusal will be sent to the lab"
        : "is discarded; the lab gets no word of it, since results.send of its profile lacks refused: see `cryobridge tasks list`",
    ];
  });
  if (hasDiscarded) await releaseWaiting(pool, config, profiles, { isEarlierOnly: true });
  return done;
}

function numberOf(messageId: string): number {
  const id = parseId("m", messageId);
  if (id === undefined) throw new TypeError(`${messageId} is no id of a message`);
  return id;
}
