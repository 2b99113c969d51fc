import type pg from "pg";
import type { Config } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import type { StoredMessage } from "../../ledger/messages/views.ts";
import { type Act, recordAudit } from "../../ledger/operator/audit.ts";
import type { Profile } from "../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { Acted, Acts, Replayed } from "../../operator/acts.ts";
import type { ServiceClient } from "../../service/client.ts";
import { type AlertParts, testPlaces } from "../alert-places.ts";
import { createReplay, discardMessages, releaseMessages } from "./messages.ts";
import {
  type ActSite,
  cancel,
  discard,
  mayCancel,
  override,
  release,
  resolve,
  retry,
  sendAgain,
} from "./orders.ts";
import { releaseAfterRestore } from "./restored.ts";
import { dropResult, resendResult, retryResult } from "./results.ts";

const ORDER_ACTS = { retry, discard, release, override, cancel, sendAgain };
const RESULT_ACTS = { retry: retryResult, drop: dropResult, resend: resendResult };

/** What a person does in the console of a daemon. */
export function createActs(site: {
  readonly pool: pg.Pool;
  readonly config: Config<ProfileDefinition>;
  readonly profiles?: ReadonlyMap<string, Profile> | undefined;
  readonly alertParts: AlertParts;
  readonly withService: <T>(work: (service: ServiceClient) => Promise<T>) => Promise<T>;
}): Acts {
  const orders: ActSite = site;
  return {
    mayCancel: (order) => mayCancel(orders, order),
    order: (name, order, act) => ORDER_ACTS[name](orders, order, act),
    resolve: (order, found, act) => resolve(orders, order, found, act),
    releaseAfterRestore: (act) => releaseAfterRestore(site.pool, act),
    result: (name, result, act) => RESULT_ACTS[name](site, result, act),
    replay: async (messages, act, onEach) => {
      const prepare = await createReplay(site);
      const replayed: Replayed[] = [];
      for (const message of messages) {
        replayed.push(await replayOne(prepare, message, site.pool, act));
        onEach?.();
      }
      return replayed;
    },
    releaseMessages: (filter, act, onReleased) => releaseMessages(site, filter, act, onReleased),
    discardMessages: (messages, act, onEach) =>
      discardMessages(site, act, async (discardOne) => {
        const done: Acted[] = [];
        for (const message of messages) {
          done.push(await discardOne(message));
          onEach?.();
        }
        return done;
      }),
    testAlerts: async (place, act) => {
      const tested = await testPlaces(site.config, site.alertParts, place);
      const targets = tested.map((each) => ({
        target: each.place,
        detail: { failure: each.failure ?? null },
      }));
      await recordAudit(site.pool, act, "alert-test", targets);
      return tested;
    },
  };
}

async function replayOne(
  prepare: Awaited<ReturnType<typeof createReplay>>,
  message: StoredMessage,
  pool: pg.Pool,
  act: Act,
): Promise<Replayed> {
  try {
    return await prepare(message)(pool, act);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "CLI_NOT_APPLICABLE") throw error;
    return { messageId: message.messageId, refusal: error.message };
  }
}
