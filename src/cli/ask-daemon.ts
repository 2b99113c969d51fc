import { consoleUsers } from "../app/console.ts";
import type { Config } from "../config/config.ts";
import { ownAddressOf } from "../core/address-list.ts";
import { isDaemonThere } from "../ledger/embedded/lock.ts";
import type { Status } from "../standing/status-document.ts";

type Whereabouts = Pick<Config, "dataDir" | "console">;

/** The console answers within 5 s, whatever its ledger does. */
const ANSWER_WITHIN_MS = 8_000;

/**
 * Asks the console of the daemon on this configuration's data folder how things stand. Something else may listen on that
 * port, so it is asked only while a daemon does that role there; `why` says what kept it from answering, undefined when
 * there is none.
 */
export async function askDaemon(
  config: Whereabouts,
): Promise<{ readonly status: Status } | { readonly why: string | undefined }> {
  // Where the folder may not be read, the console still knows.
  if (!(await isDaemonThere(config.dataDir, "console").catch(() => true))) return { why: undefined };
  const url = `http://${ownAddressOf(config.console.host, config.console.port)}`;
  const token = consoleUsers(config)[0]?.token;
  try {
    const answer = await fetch(`${url}/api/status`, {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    if (answer.status === 401)
      return {
        why: `${url} refuses the token of this configuration: was it changed since the start?`,
      };
    const status = answer.ok ? ((await answer.json()) as Partial<Status>) : {};
    // An older release has no such lists.
    if (!Array.isArray(status.attention) || !Array.isArray(status.parts))
      return { why: `${url} gives another answer than expected, status ${answer.status}` };
    return { status: status as Status };
  } catch {
    return { why: `${url} does not answer` };
  }
}
