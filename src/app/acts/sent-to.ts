import type { Config } from "../../config/config.ts";
import { isReported, type Profile, type ReportedState } from "../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import type { Acted } from "../../operator/acts.ts";

/** What says of a connector what its lab is sent. */
export interface SentToSite {
  readonly config: Config<ProfileDefinition>;
  /** Those that a daemon works by, or as the configuration has them now. Asked for before anything is done: one may not be loaded. */
  profiles(): Promise<ReadonlyMap<string, Profile>>;
}

/** Whether a connector's lab is sent a state. Of a connector that is no longer configured another one may send it. */
export function isSent(
  { config, profiles }: Pick<SentToSite, "config"> & { readonly profiles: ReadonlyMap<string, Profile> },
  connector: string,
  state: ReportedState,
): boolean {
  const settings = config.connectors.find(({ name }) => name === connector);
  const profile = settings && profiles.get(settings.profile);
  return profile === undefined || isReported(profile, state);
}

/**
 * What became of a record for good, and whether its lab hears of it.
 *
 * @param sent the words where it does
 */
export async function actedAndSent(
  site: SentToSite,
  connector: string,
  { state, words, sent }: { readonly state: ReportedState; readonly words: string; readonly sent: string },
): Promise<Acted> {
  const by = { config: site.config, profiles: await site.profiles() };
  if (isSent(by, connector, state)) return [true, `${words}; ${sent}`];
  const why = `the lab gets no word of it, since results.send of its profile lacks ${state}`;
  return [true, `${words}; ${why}`, { isNews: true }];
}
