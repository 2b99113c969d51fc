import type pg from "pg";
import type { Logger } from "../core/logger.ts";
import { noteTakenBack } from "../ledger/results/tasks.ts";

/** Tells that a lab system answered a result with an error which it had acknowledged before. Must not throw. */
export type TakenBack = (connector: string, fileName: string, answer: string) => void;

/** Opens a task for each result that a lab takes back. One that can't be kept now is in the log all the same. */
export function keepTakenBack(pool: pg.Pool, logger: Logger): TakenBack {
  return (connector, fileName, answer) => {
    noteTakenBack(pool, connector, fileName, answer).catch((error: unknown) => {
      logger.warn({ err: error, connector, answer }, "a result was taken back, and no task can be opened");
    });
  };
}
