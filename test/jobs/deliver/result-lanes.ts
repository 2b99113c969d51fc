import { Failure, type FailureCode } from "../../../src/core/failures.ts";
import type { MessageRecord } from "../../../src/ledger/messages/record.ts";
import { listOpenDeliveries } from "../../../src/ledger/operator/views.ts";
import { insertOrderOutcomes } from "../../../src/ledger/orders/change.ts";
import type { Composition, OpenOutcome } from "../../../src/ledger/results/outcomes.ts";
import { deliverTo, impatientBreaker } from "../../support/deliver.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import type { TestLedger } from "../../support/with-ledger.ts";

export const PERSON = { actor: "kim", reason: "fixed" };

export const LONG = { firstMs: 3_600_000, maxMs: 3_600_000 };

export const order = (name: string) =>
  anOrder({
    placerOrderNumber: name,
    code: `S-${name}`,
    containers: [{ label: `V-${name}`, description: "" }],
  });

/** An outcome in short: `A` for news of order A, `ack AB`, `answer AB` to questions about A and B. */
export function wordsOf({ outcome }: OpenOutcome): string {
  switch (outcome.kind) {
    case "acknowledged":
      return `ack ${outcome.orders.map(({ placerOrderNumber }) => placerOrderNumber).join("")}`;
    case "changed":
      return outcome.order.placerOrderNumber ?? "";
    case "refused":
    case "waiting":
      return outcome.kind;
    default:
      return `answer ${outcome.answers.map(({ placerOrderNumber }) => placerOrderNumber).join("")}`;
  }
}

/** A lab that gets each outcome in a file of its own, named by its words and the number of the outcome. */
export function aLab({ pool }: TestLedger, { parkAfter = 10, backoff = { firstMs: 1, maxMs: 1 } } = {}) {
  const lab = {
    got: [] as string[],
    /** What a file fails with. */
    fails: (_name: string): FailureCode | undefined => undefined,
    /** Outcomes that no message can be made of. */
    spoiled: new Set<string>(),
    /** Whether all that is open goes into one file, as in CSV. */
    isOneFile: false,
  };
  let made = 0;
  const names = new Map<number, string>();
  const nameOf = (open: OpenOutcome) => {
    const name = names.get(open.id) ?? `${wordsOf(open)}${++made}`;
    names.set(open.id, name);
    return name;
  };
  const compose = async (open: readonly OpenOutcome[]): Promise<Composition> => {
    const bytes = Buffer.from("x");
    for (const each of open) nameOf(each);
    const fit = open.filter((each) => !lab.spoiled.has(nameOf(each)));
    return {
      deliveries: lab.isOneFile
        ? [{ fileName: fit.map(nameOf).join("+"), bytes, outcomeIds: fit.map(({ id }) => id) }]
        : fit.map((each) => ({ fileName: nameOf(each), bytes, outcomeIds: [each.id] })),
      unreported: [],
      uncomposed: open
        .filter((each) => lab.spoiled.has(nameOf(each)))
        .map(({ id }) => ({ outcomeId: id, code: "UNCLASSIFIED", text: "no message" })),
    };
  };
  const target = {
    compose,
    breaker: impatientBreaker(),
    deliver: async ({ fileName }: { readonly fileName: string }) => {
      const code = lab.fails(fileName);
      if (code) throw new Failure(code, "invented");
      lab.got.push(fileName);
    },
  };
  const deliver = deliverTo(pool, target, { parkAfter, backoff });
  const ids = new Map<string, number>();
  let ordinal = 0;
  return {
    ...{ lab, pool, ids, deliver },
    /** A message comes in. */
    comes: (make: (ordinal: number) => MessageRecord) => commit(pool, [make(++ordinal)]),
    /** Orders of these names are placed and acknowledged, one message each. */
    places: async (all: string) => {
      for (const name of all) {
        const [id] = await commit(pool, [aRecord(++ordinal, [order(name)])]);
        ids.set(name, id as number);
      }
      await deliver();
      lab.got.length = 0;
      made = 0;
    },
    /** Something happens to the orders of these names, one after the other. */
    happens: async (all: string) => {
      const client = await pool.connect();
      for (const name of all) await insertOrderOutcomes(client, [ids.get(name) as number]);
      client.release();
    },
    /** Delivers so often, and each time all that waits for its time is due. */
    rounds: async (count: number) => {
      for (let round = 0; round < count; round += 1) {
        await pool.query("update deliveries set next_at = now() where state = 'pending'");
        await deliver();
      }
    },
    /** What the lab doesn't have, with what it waits behind. */
    open: async () => {
      const open = await listOpenDeliveries(pool, 100);
      const nameById = new Map(open.map(({ deliveryId, fileName }) => [deliveryId, fileName]));
      return open.map(({ fileName, state, waitsBehind }) =>
        [fileName, state, ...(waitsBehind === undefined ? [] : [nameById.get(waitsBehind)])].join(" "),
      );
    },
    /** The number of the delivery of that name. */
    idOf: async (name: string) => {
      const { rows } = await pool.query<{ id: number }>("select id from deliveries where file_name = $1", [
        name,
      ]);
      return rows[0]?.id as number;
    },
  };
}

export const failing =
  (code: FailureCode, ...names: string[]) =>
  (name: string) =>
    names.includes(name) ? code : undefined;
