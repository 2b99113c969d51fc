import type pg from "pg";
import type { Config } from "../../config/config.ts";
import type { Profile } from "../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { Acts } from "../../operator/acts.ts";
import type { ServiceClient } from "../../service/client.ts";
import { type AlertParts, testPlaces } from "../alert-places.ts";
import { compileProfiles } from "../profiles.ts";
import { discardMessages, releaseMessages, replay } from "./messages.ts";
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
import { dropResult, resendResult, retryResult } from "./results.ts";

const ORDER_ACTS = { retry, discard, release, override, cancel, sendAgain };
const RESULT_ACTS = { retry: retryResult, drop: dropResult, resend: resendResult };

/** What a person does in the console of a daemon. */
export function createActs(site: {
  readonly pool: pg.Pool;
  readonly config: Config<ProfileDefinition>;
  /** Those that a daemon works by; compiled once for all acts where there are none. */
  readonly profiles?: ReadonlyMap<string, Profile> | undefined;
  readonly alertParts: AlertParts;
  readonly withService: <T>(work: (service: ServiceClient) => Promise<T>) => Promise<T>;
}): Acts {
  let compiled: Promise<ReadonlyMap<string, Profile>> | undefined;
  const profiles = async () => {
    if (site.profiles) return site.profiles;
    compiled ??= compileProfiles(site.config);
    return compiled;
  };
  const orders: ActSite = { ...site, profiles };
  return {
    mayCancel: (order) => mayCancel(orders, order),
    order: (name, order, act) => ORDER_ACTS[name](orders, order, act),
    resolve: (order, found, act) => resolve(orders, order, found, act),
    result: (name, result, act) => RESULT_ACTS[name](site, result, act),
    replay: (by) => replay(orders, by),
    discardMessages: (by) => discardMessages(orders, by),
    releaseMessages: (filter, act, onReleased) => releaseMessages(orders, filter, act, onReleased),
    testAlerts: (place) => testPlaces(site.config, site.alertParts, place),
  };
}
