import type pg from "pg";
import type { Clock } from "../core/clock.ts";
import { encodeCrockfordNumber } from "../core/crockford.ts";
import type { IncomingMessage, MessageVerdict, Received, Reception, Verdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { phi } from "../core/phi.ts";
import type { Decided, ReplyTo } from "../core/reply.ts";
import { commitMessages, type MessageRecord } from "../ledger/commit-messages.ts";
import { formatId } from "../ledger/ids.ts";
import type { MessageAnswer } from "../mapping/answer-hl7.ts";
import type { Mapper } from "../mapping/mapper.ts";
import type { Hl7Profile } from "../mapping/profile.ts";
import { createReplier, type ReplySettings } from "../mapping/reply-hl7.ts";
import { groupCommit } from "./group-commit.ts";
import { logVerdicts, toRecord } from "./intake.ts";

/** How a connector's messages are mapped and answered. */
export interface ReceptionSettings extends ReplySettings {
  readonly mapper: Mapper;
  readonly profile: Hl7Profile;
  readonly reusedControlId: ReplyTo["reusedControlId"];
}

/** What the reception is given. */
export interface ReceptionDeps {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Part of each answer's control id; see `findInstanceCode`. */
  readonly instanceCode: string;
  readonly settingsByConnector: ReadonlyMap<string, ReceptionSettings>;
  /** Called after each commit, with its verdicts. */
  readonly onCommitted: (connector: string, verdicts: readonly MessageVerdict[]) => void;
}

/** Enough to share a disk's sync among many connections, few enough that nobody waits long for the others' rows. */
const GROUP = { items: 250, bytes: 4 * 1024 * 1024 };

/** The way in for messages that come over connections: what comes at the same time is committed together. */
export function createReception(deps: ReceptionDeps): Reception {
  const byConnector = new Map(
    [...deps.settingsByConnector].map(([connector, settings]) => [
      connector,
      {
        settings,
        commit: groupCommit(
          (frames: readonly MessageRecord[][]) => commitFrames(connector, frames, deps),
          GROUP,
        ),
      },
    ]),
  );
  return {
    receive: async (connector, messages, peer) => {
      const found = byConnector.get(connector);
      if (!found) throw new RangeError(`no connector ${connector} receives over connections`);
      const receivedAt = new Date(deps.clock.now());
      const records = messages.map(
        (message): MessageRecord => ({
          ...toRecord(found.settings.mapper, message),
          replyTo: replyTo({ connector, message, peer, receivedAt }, found.settings, deps.instanceCode),
        }),
      );
      const bytes = messages.reduce((sum, message) => sum + message.raw.reveal().length, 0);
      return found.commit(records, bytes);
    },
  };
}

async function commitFrames(
  connector: string,
  frames: readonly MessageRecord[][],
  deps: ReceptionDeps,
): Promise<Received[][]> {
  // Messages of a commit are told apart by their ordinals.
  let ordinal = 0;
  const numbered = frames.map((records) =>
    records.map((record) => {
      ordinal += 1;
      return { ...record, message: { ...record.message, ordinal } };
    }),
  );
  const verdicts = await commitMessages(deps.pool, { fileId: null, connector, records: numbered.flat() });
  logVerdicts(deps.logger, connector, verdicts);
  deps.onCommitted(connector, verdicts);
  const byOrdinal = new Map(verdicts.map((verdict) => [verdict.ordinal, verdict]));
  return numbered.map((records) => records.flatMap(({ message }) => byOrdinal.get(message.ordinal) ?? []));
}

interface Arrival {
  readonly connector: string;
  readonly message: IncomingMessage;
  readonly peer: string;
  readonly receivedAt: Date;
}

function replyTo(
  { connector, message, peer, receivedAt }: Arrival,
  settings: ReceptionSettings,
  instanceCode: string,
): ReplyTo {
  const { content, raw } = message;
  // The header of a message whose characters can't be read is ASCII all the same.
  const text = content.kind === "hl7" ? content.text : phi(raw.reveal().toString("latin1"));
  const answered = { messageId: "", connector, receivedAt, text };
  const replier = createReplier(answered, settings.profile, settings);
  const controlId = (prefix: string, messageId: number) =>
    `${prefix}${instanceCode}${encodeCrockfordNumber(messageId).padStart(8, "0")}`;
  const answerOf = ({ verdict, problems, messageId }: Decided): MessageAnswer => {
    const common = {
      outcomeId: "",
      controlId: controlId("CA", messageId),
      occurredAt: receivedAt,
      message: { ...answered, messageId: formatId("m", messageId) },
    };
    const kind = KIND_BY_VERDICT[verdict];
    return kind === "acknowledged"
      ? { ...common, kind, orders: [], isDuplicate: verdict === "duplicate" }
      : { ...common, kind, problems };
  };
  return {
    peer,
    reusedControlId: settings.reusedControlId,
    compose: (decided) => {
      const replies = replier.compose(answerOf(decided), controlId("CL", decided.messageId));
      return replies.length === 0 ? undefined : Buffer.concat(replies);
    },
    isWhole: ({ verdict, problems }) => replier.isWhole({ kind: KIND_BY_VERDICT[verdict], problems }),
  };
}

const KIND_BY_VERDICT = {
  accepted: "acknowledged",
  duplicate: "acknowledged",
  ignored: "acknowledged",
  refused: "refused",
  waiting: "waiting",
} as const satisfies Record<Verdict, MessageAnswer["kind"]>;
