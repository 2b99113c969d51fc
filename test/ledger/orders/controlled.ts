import type pg from "pg";
import type { ControlAnswer } from "../../../src/core/outcome.ts";
import { listOpenOutcomes } from "../../../src/ledger/results/outcomes.ts";

/** The change of an order whose call made that request. */
export const submitted = (requestId: number) =>
  ({
    to: "submitted",
    request: { surface: "request", requestId },
    isReleased: true,
    call: { end: "made" },
  }) as const;

/** The answers so far, newest last. */
export async function answersTo(pool: pg.Pool): Promise<ControlAnswer[]> {
  const open = await listOpenOutcomes(pool, "lims", 500);
  const answers = open.flatMap(({ outcome }) => (outcome.kind === "control" ? outcome.answers : []));
  return answers.map((answer) => ({ refusal: undefined, order: undefined, ...answer }));
}
