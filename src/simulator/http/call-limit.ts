import type { Clock } from "../../core/clock.ts";
import type { Behaviour } from "../behaviour.ts";

const WINDOW_MS = 60_000;

/** How often each client may call, counted over the last minute. A refused call is not counted. */
export class CallLimit {
  readonly #clock: Clock;
  readonly #takenAt = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts a call; gives how many seconds the client has to wait instead when it has called too often. */
  take(clientId: string, perMinute: Behaviour["callsPerMinute"]): number | undefined {
    if (perMinute === "unlimited") return undefined;
    const nowMs = this.#clock.monotonic();
    const takenAt = (this.#takenAt.get(clientId) ?? []).filter((at) => at > nowMs - WINDOW_MS);
    this.#takenAt.set(clientId, takenAt);
    const oldest = takenAt[takenAt.length - perMinute];
    if (oldest !== undefined) return Math.ceil((oldest + WINDOW_MS - nowMs) / 1_000);
    takenAt.push(nowMs);
    return undefined;
  }
}
