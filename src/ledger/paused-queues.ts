import type pg from "pg";
import { run } from "./database.ts";

/** Queues that an operator has paused: nothing new is handed to them; intake goes on. */
export async function findPausedQueues(pool: pg.Pool): Promise<Set<string>> {
  return new Set(
    (await run<{ queue: string }>(pool, "select queue from paused_queues")).map((row) => row.queue),
  );
}
