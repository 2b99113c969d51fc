import fc from "fast-check";
import type pg from "pg";
import type { Clock } from "../../src/core/clock.ts";
import { Arrivals } from "../../src/jobs/arrivals.ts";
import type { Arrival } from "../../src/ledger/arrival-rows.ts";
import { anArrival } from "./journals.ts";
import { silent } from "./with-ledger.ts";

/** Makes orders of messages of the connector `lims`, each of which this process has mapped itself. */
export function openArrivals(pool: pg.Pool, clock: Clock): Arrivals {
  return new Arrivals({
    pool,
    clock,
    logger: silent,
    connector: "lims",
    mapAgain: () => {
      throw new Error("nothing is to be mapped again");
    },
    onCommitted: () => undefined,
  });
}

/** Any text of JavaScript's: quotes, line breaks, NUL and halves of characters come up, too. */
const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom("", '"', "\\", "\n", "\r\n", "\u2028", "\0", "\ud800", "\udc00A", "null", "LIMS^NORTH"),
);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined });
const bytes = fc.uint8Array({ maxLength: 60 });

const parts = fc.record({
  raw: bytes,
  reply: maybe(bytes),
  controlId: maybe(text),
  messageType: maybe(text),
  sender: maybe(text),
  peer: maybe(text),
  encoding: maybe(fc.constantFrom("utf-8", "latin1")),
  isTold: fc.boolean(),
});

/** Messages in ascending order of their ids, which have gaps. */
export function arrivals({ min = 1, max = 6 } = {}): fc.Arbitrary<Arrival[]> {
  return fc
    .array(fc.tuple(fc.integer({ min: 1, max: 1_000_000_000 }), parts), { minLength: min, maxLength: max })
    .map((all) => {
      let id = 0;
      return all.map(([step, each]) => {
        id += step;
        return anArrival(id, each);
      });
    });
}
