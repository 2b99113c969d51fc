import { join } from "node:path";
import type pg from "pg";
import { createLedgerReader, type LedgerView, type Move } from "./ledger-view.ts";
import { createRefusalReader } from "./refusals.ts";
import { countResult } from "./results.ts";
import type { Screen } from "./screen.ts";
import { SENDERS } from "./senders.ts";
import { describeMove, describeRefusal, nameOfOrder } from "./words.ts";

export interface LookDeps {
  readonly pool: pg.Pool;
  readonly folder: string;
  readonly screen: Screen;
}

/** Steps that say nothing new to whoever sees the others: results have lines of their own. */
const UNSHOWN: ReadonlySet<string> = new Set(["subject_registered", "told"]);

/**
 * A look at what has happened since the last one: shows a line for each step of an order, each refused file and each
 * result, and gives all that the ledger says. Patients' data are in the view and in no line.
 */
export function createLook({ pool, folder, screen }: LookDeps): () => Promise<LedgerView> {
  const readLedger = createLedgerReader(pool);
  const readRefusals = createRefusalReader(
    folder,
    SENDERS.map(({ name }) => name),
  );
  const lastWordsByOrder = new Map<number, string>();
  const written = new Set<number>();

  const showMove = (view: LedgerView, move: Move) => {
    const order = view.orders.find(({ id }) => id === move.orderId);
    if (!order || UNSHOWN.has(move.kind)) return;
    const words = describeMove(order, move, screen.paint);
    // An order that waits says so at every look.
    if (lastWordsByOrder.get(order.id) === words) return;
    lastWordsByOrder.set(order.id, words);
    screen.happened(order.connector, nameOfOrder(order), words);
  };

  return async () => {
    const view = await readLedger();
    for (const move of view.moves) showMove(view, move);
    for (const refusal of await readRefusals()) {
      screen.happened(refusal.sender, refusal.fileName, describeRefusal(refusal, screen.paint));
    }
    for (const { id, connector, fileName, state } of view.results) {
      if (state !== "delivered" || written.has(id)) continue;
      written.add(id);
      const counts = await countResult(join(folder, connector, "out", fileName));
      const what = counts.map(([kind, count]) => (count === 1 ? kind : `${count} ${kind}`)).join(", ");
      screen.happened(connector, "", screen.paint("dim", `wrote out/${fileName} (${what})`));
    }
    return view;
  };
}
