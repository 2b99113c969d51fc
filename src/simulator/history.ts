import type { Behaviour } from "./behaviour.ts";
import type { Random } from "./random.ts";
import type { Procedure, ProcedureRequest } from "./records.ts";

type Tracked = ProcedureRequest | Procedure;
type Moment = Partial<ProcedureRequest> & Partial<Procedure>;

/** What each request and procedure was at each of its statuses, so that readers may be shown an earlier one. */
export class History {
  readonly #momentsOf = new WeakMap<Tracked, Moment[]>();

  /** Keeps what a row is now. */
  keep(row: Tracked): void {
    const { status } = row;
    const moment: Moment =
      "procedureId" in row
        ? { status, procedureId: row.procedureId, acceptedAt: row.acceptedAt, acceptedBy: row.acceptedBy }
        : {
            status,
            startedAt: row.startedAt,
            completedAt: row.completedAt,
            performedBy: row.performedBy,
            error: row.error,
          };
    const moments = this.#momentsOf.get(row);
    if (moments) moments.push(moment);
    else this.#momentsOf.set(row, [moment]);
  }

  /** The row as a reader sees it: without hidden statuses, and now and then one status late. */
  shown<Row extends Tracked>(row: Row, behaviour: Behaviour, random: Random): Row {
    const { hiddenStatuses, staleReads } = behaviour;
    if (hiddenStatuses.length === 0 && staleReads === 0) return row;
    const moments = this.#momentsOf.get(row) ?? [];
    let index = moments.length - 1;
    if (staleReads > 0 && random.happens(staleReads)) index -= 1;
    while (index > 0 && hiddenStatuses.includes(moments[index]?.status ?? "")) index -= 1;
    return { ...row, ...moments[Math.max(0, index)] };
  }
}
