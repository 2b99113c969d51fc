import type pg from "pg";
import { Failure } from "../../core/failures.ts";
import { numberOfId } from "../../ledger/ids.ts";
import { commitMessages } from "../../ledger/messages/commit.ts";
import { discardMessage } from "../../ledger/messages/release.ts";
import { findMessage, type MessageView } from "../../ledger/messages/views.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import { type Act, recordAudit } from "../../ledger/operator/audit.ts";
import { closeTaskOfMessage } from "../../ledger/operator/tasks.ts";
import type { Mapped, Released, ReleaseFilter, Run } from "../../operator/acts.ts";
import { mappedInWords } from "../../operator/message-words.ts";
import { createMappers, profileOf } from "../connectors.ts";
import { releaseWaiting, toIncoming } from "../intake.ts";
import { actedAndSent, type SentToSite } from "./sent-to.ts";

interface MessageSite extends SentToSite {
  readonly pool: pg.Pool;
}

/** Maps messages again by the configuration as it is now, and commits what comes of each. */
export async function replay(site: MessageSite, by: Act): Promise<Run<MessageView>> {
  const { pool, config } = site;
  const profiles = await site.profiles();
  const mappers = createMappers(config, profiles);
  // Read one by one, since a text may be large.
  const prepare = async ({ messageId, connector: name, verdict }: MessageView) => {
    const stored = await findMessage(pool, numberOfId("m", messageId));
    const connector = config.connectors.find((each) => each.name === name);
    const mapper = mappers.get(name);
    if (!stored) throw new Failure("CLI_NOT_APPLICABLE", `${messageId} was pruned by retention`);
    if (!connector || !mapper) {
      const why = `${messageId} came through connector ${name}, which the configuration doesn't have any more`;
      throw new Failure("CLI_NOT_APPLICABLE", why);
    }
    // As a message of its own it would become orders, and the one that waits would become them once more.
    if (verdict === "waiting") {
      const why = `${messageId} waits; \`cryobridge messages release\` maps it as soon as its codes are known`;
      throw new Failure("CLI_NOT_APPLICABLE", why);
    }
    return { name, mapper, incoming: toIncoming(stored, connector, profileOf(connector, profiles)) };
  };
  return {
    check: async (message) => {
      await prepare(message);
    },
    each: async (message) => {
      const { messageId } = message;
      const { name, mapper, incoming } = await prepare(message);
      await recordAudit(pool, by, "replay", [{ target: messageId, detail: { reason: by.reason } }]);
      const [made] = await commitMessages(pool, {
        fileId: null,
        connector: name,
        replayOf: numberOfId("m", messageId),
        records: [{ ...mapper.map(incoming), message: incoming }],
      });
      if (!made) throw new TypeError(`the ledger gave no verdict for ${messageId}`);
      const { verdict, orders, problems } = made;
      // Nobody has to see to its refusal any more.
      if (verdict === "accepted" || verdict === "duplicate")
        await closeTaskOfMessage(pool, numberOfId("m", messageId), {
          ...by,
          reason: "replayed and accepted",
        });
      const mapped = { messageId, verdict, orderIds: orders.map(({ orderId }) => orderId), problems };
      return [verdict !== "refused", mappedInWords(mapped, "refused again"), { mapped, problems }];
    },
  };
}

/** Maps what waits again, by the configuration as it is now, in the order in which it was received. */
export async function releaseMessages(
  site: MessageSite,
  filter: ReleaseFilter,
  act: Act,
  onReleased: (message: Mapped) => void,
): Promise<Released> {
  const { code, connector } = filter;
  const isMeant = (each: WaitingCode) =>
    (code === undefined || each.code === code) && (connector === undefined || each.connector === connector);
  const { pool, config } = site;
  const profiles = await site.profiles();
  const before = (await listWaitingCodes(pool)).filter(isMeant);
  const detail = { code, connector, reason: act.reason };
  await recordAudit(pool, act, "release", [{ target: "messages", detail }]);
  await releaseWaiting(pool, config, profiles, filter, onReleased);
  return { before, left: await listWaitingCodes(pool) };
}

/** Gives up messages that wait; what waited for them may go on. */
export async function discardMessages(site: MessageSite, by: Act): Promise<Run<MessageView>> {
  const { pool, config } = site;
  const profiles = await site.profiles();
  let hasDiscarded = false;
  return {
    each: async ({ messageId, verdict, connector }) => {
      const isDone = await discardMessage(pool, numberOfId("m", messageId), by);
      if (!isDone) return [false, `can't be discarded: it doesn't wait (${verdict})`];
      hasDiscarded = true;
      const [isActed, words, more] = await actedAndSent(site, connector, {
        ...{ state: "refused", words: "is discarded", sent: "a refusal will be sent to the lab" },
      });
      return more === undefined
        ? [isActed, words]
        : [isActed, `${words}: see \`cryobridge tasks list\``, more];
    },
    end: async () => {
      if (hasDiscarded) await releaseWaiting(pool, config, profiles, { isEarlierOnly: true });
    },
  };
}
