import type { FailureCode } from "../core/failures.ts";

/** What a command's exit status says. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  configuration: 3,
  unreachable: 4,
  notFound: 5,
  // Of `inventory`, which keeps to diff(1): 1 is an answer there, so a failure is 2 whatever it was.
  differs: 1,
  notCompared: 2,
} as const;
export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

const BY_CODE: Readonly<Partial<Record<FailureCode, ExitStatus>>> = {
  CLI_USAGE: EXIT.usage,
  CLI_NOT_FOUND: EXIT.notFound,
  CLI_LEDGER_MISSING: EXIT.unreachable,
  // With these the other side did answer.
  LEDGER_IN_USE: EXIT.failed,
  LEDGER_OLDER_AT_WORK: EXIT.failed,
  LEDGER_NEWER: EXIT.failed,
  LEDGER_OLDER: EXIT.failed,
  LEDGER_SERVER_UNFIT: EXIT.failed,
  LEDGER_POOLER_UNFIT: EXIT.failed,
  SERVICE_REFUSED: EXIT.failed,
  SERVICE_NOT_FOUND: EXIT.notFound,
  SERVICE_PATH_NONE: EXIT.configuration,
  MLLP_UNREACHABLE: EXIT.unreachable,
  MLLP_NO_ANSWER: EXIT.unreachable,
};

const BY_AREA: Readonly<Record<string, ExitStatus>> = {
  CONFIG: EXIT.configuration,
  LEDGER: EXIT.unreachable,
  QUEUE: EXIT.unreachable,
  SERVICE: EXIT.unreachable,
};

/** The exit status for a failure: by its code, else by its area (the word before the first `_`), else 1. */
export function exitStatusOf(code: FailureCode): ExitStatus {
  return BY_CODE[code] ?? BY_AREA[code.split("_", 1)[0] ?? ""] ?? EXIT.failed;
}
