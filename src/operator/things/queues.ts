import { QUEUE_NAMES, type QueueName } from "../../jobs/queues.ts";
import { type PausedQueue, pauseQueue, resumeQueue } from "../../ledger/operator/queues.ts";
import type { Outcome, SiteAct } from "../site-act.ts";

/** What a queue is for, in words. */
export const MEANINGS: Readonly<Record<QueueName, string>> = {
  submit: "Orders go to the service.",
  track: "The service is asked how orders stand.",
  deliver: "Results go to the lab.",
};

/** Who paused a queue, with the reason that was given: `paused by kim 3m ago: the lab moves its folder`. @param when as ` 3m ago` */
export function pausedInWords(
  { actor, reason }: Pick<PausedQueue, "actor"> & { readonly reason?: string | null | undefined },
  when = "",
): string {
  return `paused by ${actor}${when}${reason ? `: ${reason}` : ""}`;
}

interface OnQueue {
  readonly queue: QueueName;
}

const on = (word: string): OnQueue | undefined => {
  const queue = QUEUE_NAMES.find((each) => each === word);
  return queue && { queue };
};

/** What can be done to a queue; doing what is done already is no error. */
export const QUEUE_ACTS = {
  pause: {
    ...{ command: "queue pause", button: ({ queue }) => `Pause ${queue}`, reason: "optional" },
    path: "/queue/pause",
    on,
    help: "Hand nothing new to a queue until it is resumed; intake goes on.",
    example: "cryobridge queue pause submit",
    explains: ({ queue }) =>
      `${MEANINGS[queue]} Nothing new is handed over until it is resumed; intake goes on.`,
    act: async ({ pool }, by, { queue }) =>
      outcomeOf({ queue, isPaused: true, hasChanged: await pauseQueue(pool, queue, by) }),
  },
  resume: {
    ...{ command: "queue resume", button: ({ queue }) => `Resume ${queue}`, reason: "optional" },
    path: "/queue/resume",
    on,
    help: "Let a paused queue go on.",
    example: "cryobridge queue resume submit",
    explains: ({ queue }) => `${MEANINGS[queue]} This goes on.`,
    act: async ({ pool }, by, { queue }) =>
      outcomeOf({ queue, isPaused: false, hasChanged: await resumeQueue(pool, queue, by) }),
  },
} as const satisfies Record<string, SiteAct<OnQueue>>;

function outcomeOf(json: OnQueue & { readonly isPaused: boolean; readonly hasChanged: boolean }): Outcome {
  const { queue, isPaused, hasChanged } = json;
  const words = isPaused
    ? hasChanged
      ? "is paused: nothing new is handed to it"
      : "was already paused"
    : hasChanged
      ? "is running again"
      : "was already running";
  return { isDone: true, lines: [["done", `Queue ${queue} ${words}`]], json: { ...json } };
}
