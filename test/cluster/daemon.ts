import { readFile } from "node:fs/promises";
import { type ChildDaemon, startChildDaemon } from "../support/child-daemon.ts";
import type { CuttableLink } from "../support/cuttable-link.ts";

const CLOCK = new URL("../support/jumping-clock.mjs", import.meta.url);

/** Where a daemon of a cluster has its things. */
export interface DaemonPlace {
  /** `worker.name` of its configuration. */
  readonly name: string;
  readonly configFile: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly consoleUrl: string;
  /** Where its MLLP connector listens. */
  readonly mllpPort: number;
  /** Its own networks to the database and to the service, in a cluster that is harmed. */
  readonly links: { readonly ledger: CuttableLink; readonly service: CuttableLink } | undefined;
}

/** One daemon of a cluster, in a process of its own. */
export interface ClusterDaemon extends DaemonPlace {
  /** Of the one that was started last. */
  readonly pid: number;
  readonly hasEnded: boolean;
  /** Ends it without a word, paused or not (SIGKILL). */
  kill(): Promise<void>;
  /** Freezes it (SIGSTOP): its connections stay open and nothing answers. */
  pause(): void;
  /** Lets it go on (SIGCONT). */
  resume(): void;
  /** Has its wall clock jump by an hour, in a cluster that is harmed. */
  jump(): void;
  /** Asks it to stop (SIGTERM), after {@link resume}; gives its exit status. */
  stop(): Promise<number | null>;
  /** Starts it again, after {@link stop} where it runs; resolves once it takes orders in. */
  restart(): Promise<void>;
  /** All that it wrote since the cluster's start. */
  log(): Promise<string>;
}

/**
 * Starts a daemon of a cluster, which is not waited for: `started` resolves once it takes orders in.
 *
 * @param onEnd is called when it ends and nobody asked for it here
 */
export function startClusterDaemon(
  place: DaemonPlace,
  onEnd: (why: string) => void,
): { readonly daemon: ClusterDaemon; readonly started: Promise<void> } {
  let current: ChildDaemon;
  const start = () => {
    current = startChildDaemon(place.configFile, place.logFile, [], place.links && `--import ${CLOCK.href}`);
    current.unexpectedEnd.catch((error: unknown) =>
      onEnd(error instanceof Error ? error.message : `${error}`),
    );
    return current.running;
  };
  const send = (signal: "SIGSTOP" | "SIGCONT" | "SIGUSR2") => {
    if (!current.hasEnded) process.kill(current.pid, signal);
  };
  const stop = () => {
    const ended = current.end("SIGTERM");
    // Frozen, it would never hear of the signal.
    send("SIGCONT");
    return ended;
  };
  const started = start();
  const daemon: ClusterDaemon = {
    ...place,
    get pid() {
      return current.pid;
    },
    get hasEnded() {
      return current.hasEnded;
    },
    kill: async () => {
      await current.end("SIGKILL");
    },
    pause: () => send("SIGSTOP"),
    resume: () => send("SIGCONT"),
    jump: () => {
      // Without the clock of tests the signal would end it.
      if (place.links) send("SIGUSR2");
    },
    stop,
    restart: async () => {
      await stop();
      await start();
    },
    log: () => readFile(place.logFile, "utf8"),
  };
  return { daemon, started };
}
