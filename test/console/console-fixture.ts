import { request } from "node:http";
import type { ConsoleDeps, ConsoleSettings } from "../../src/console/deps.ts";
import { createMetrics } from "../../src/console/metrics.ts";
import { type RunningConsole, startConsole } from "../../src/console/server.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createLogger } from "../../src/core/logger.ts";
import { ORDER_STATES, type OrderState } from "../../src/core/order-state.ts";
import type { LedgerCounts } from "../../src/standing/facts.ts";

export const TOKEN = "a-token-for-the-tests";

/** Who may sign in with it. */
export const USERS = [{ name: "operator", token: TOKEN, role: "operator" }] as const;

/** Counts of zero but for those given. */
export function countsOf(given: Partial<Record<OrderState, number>> = {}): LedgerCounts {
  const zeros = Object.fromEntries(ORDER_STATES.map((state) => [state, 0])) as Record<OrderState, number>;
  return {
    byState: { ...zeros, ...given },
    oldestSecondsByState: {},
    deliveriesPending: 0,
    deliveriesParked: 0,
    tasks: [],
  };
}

/** What a healthy, empty program answers, but for the parts given. */
export function depsOf(given: Partial<ConsoleDeps> = {}): ConsoleDeps {
  return {
    own: () => [],
    counts: async () => countsOf(),
    metrics: createMetrics("1.2.3"),
    logger: createLogger({ level: "silent" }, { write: () => {} }),
    clock: systemClock,
    ...given,
  };
}

/** Runs a console on a free port for the time of the body. */
export async function withConsole(
  given: { readonly settings?: Partial<ConsoleSettings>; readonly deps?: Partial<ConsoleDeps> },
  body: (running: RunningConsole) => Promise<void>,
): Promise<void> {
  const settings = { host: "127.0.0.1", port: 0, users: [], version: "1.2.3", ...given.settings };
  const running = await startConsole(settings, depsOf(given.deps));
  try {
    await body(running);
  } finally {
    await running.close();
  }
}

/** The status of a GET with a Host header of choice, which fetch doesn't allow. */
export function statusWithHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}
