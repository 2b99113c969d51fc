import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { Simulator } from "../../simulator/simulator.ts";
import type { DaemonProcess } from "./daemon-process.ts";
import { dropFreshOrder } from "./fresh-order.ts";
import { listenForKeys } from "./keys.ts";
import type { Screen } from "./screen.ts";

export interface PlayDeps {
  readonly screen: Screen;
  readonly folder: string;
  readonly simulator: Simulator;
  readonly daemon: DaemonProcess;
  readonly clock: Clock;
  readonly onQuit: () => void;
}

const OUTAGE_MS = 30_000;

export const KEYS_HELP =
  "d drop an order   f the service fails for 30 s   k kill -9 the daemon   h these keys   q quit";

/** Lets a person at the terminal play with what runs; the function that is returned ends that. */
export function play({ screen, folder, simulator, daemon, clock, onQuit }: PlayDeps): () => void {
  const ending = new AbortController();
  let fresh = 0;
  let isOut = false;

  const acts: Readonly<Record<string, () => void | Promise<void>>> = {
    d: async () => {
      fresh += 1;
      const number = await dropFreshOrder(join(folder, "lims", "in"), fresh, new Date(clock.now()));
      screen.remark(`dropped ${number}.hl7 into lims/in`);
    },
    f: async () => {
      if (isOut) return screen.remark("the service is out of order already");
      isOut = true;
      simulator.control.addFault({ name: "outage", before: "drop" });
      screen.remark("for 30 seconds the service cuts every connection without an answer; press d and see");
      await clock.sleep(OUTAGE_MS, ending.signal);
      simulator.control.setFaults([]);
      isOut = false;
      screen.remark("the service answers again; what waited goes on within some seconds");
    },
    k: () => {
      screen.remark(`kill -9 ${daemon.pid}`);
      daemon.kill();
    },
    h: () => screen.remark(KEYS_HELP),
    q: onQuit,
  };
  const stopListening = listenForKeys(process.stdin, (key) => {
    const act = Object.hasOwn(acts, key) ? acts[key] : undefined;
    void Promise.resolve(act?.()).catch((error: unknown) => {
      if (!ending.signal.aborted) screen.remark(`that did not work: ${(error as Error).message}`);
    });
  });
  return () => {
    ending.abort();
    stopListening();
  };
}
