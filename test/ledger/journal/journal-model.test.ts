import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { insertArrivals } from "../../../src/ledger/arrivals.ts";
import type { Journal } from "../../../src/ledger/journal/journal.ts";
import { JournalFile } from "../../../src/ledger/journal/journal-file.ts";
import { encodeRecord } from "../../../src/ledger/journal/record.ts";
import {
  AT,
  idsOf,
  type Journals,
  type LostCommit,
  losingPool,
  TIMES,
  withJournals,
} from "../../support/journals.ts";

/** What may happen to a journal, in whatever order. */
type Step =
  /** @param bytes of all of them */
  | { readonly kind: "put"; readonly messages: number; readonly bytes: number; readonly isOdd: boolean }
  /** Messages that go into the ledger without the journal, behind what stands in it. */
  | { readonly kind: "insert"; readonly messages: number }
  | { readonly kind: "flush"; readonly lost: LostCommit | undefined }
  /** Messages are put down while others are on their way into the ledger. */
  | { readonly kind: "both"; readonly messages: number; readonly lost: LostCommit | undefined }
  /** @param wasWriting a message that nobody was told of is cut off in the file */
  | { readonly kind: "crash"; readonly wasWriting: boolean }
  /** The process is killed when a flush is over but for the wiping of the files. */
  | { readonly kind: "crash before the wipe"; readonly lost: LostCommit | undefined };

const lost = fc.constantFrom<(LostCommit | undefined)[]>(undefined, undefined, "refused", "unanswered");
const messages = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      messages: fc.oneof({ weight: 5, arbitrary: messages }, { weight: 1, arbitrary: fc.constant(200) }),
      bytes: fc.constantFrom(0, 10, 5_000, 1_200_000),
      isOdd: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("insert" as const), messages }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("flush" as const), lost }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("both" as const), messages, lost }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("crash" as const), wasWriting: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash before the wipe" as const), lost }) },
);

/** One connector's journal, carried through steps. */
class World {
  readonly ids: number[] = [];
  readonly #journals: Journals;
  readonly #connector: string;
  readonly #folder: string;
  #journal: Journal | undefined;
  #lost: LostCommit | undefined;

  constructor(journals: Journals, connector: string) {
    this.#journals = journals;
    this.#connector = connector;
    this.#folder = join(journals.folder, connector);
  }

  async start(): Promise<Journal> {
    const pool = losingPool(this.#journals.pool, () => this.#lost);
    this.#journal = await this.#journals.open({ pool, connector: this.#connector, folder: this.#folder });
    return this.#journal;
  }

  async end(): Promise<void> {
    await this.#journal?.close();
  }

  async take(journal: Journal, todo: Step): Promise<Journal> {
    switch (todo.kind) {
      case "put":
        await this.#put(journal, todo.messages, {
          raw: "x".repeat(todo.bytes / todo.messages),
          ...(todo.isOdd ? { controlId: "A\0B" } : {}),
        });
        return journal;
      case "insert": {
        const arrivals = await this.#journals.take(todo.messages);
        await journal.empty();
        expect(await insertArrivals(this.#journals.pool, this.#connector, arrivals)).toBe(true);
        this.ids.push(...idsOf(arrivals));
        return journal;
      }
      case "flush":
        await this.#flush(journal, todo.lost);
        return journal;
      case "both":
        await Promise.all([this.#flush(journal, todo.lost), this.#put(journal, todo.messages)]);
        return journal;
      case "crash":
        await this.end();
        if (todo.wasWriting) await this.#tear();
        return this.start();
      case "crash before the wipe": {
        const copy = `${this.#folder}-as-it-was`;
        await cp(this.#folder, copy, { recursive: true });
        await this.#flush(journal, todo.lost);
        await this.end();
        await cp(copy, this.#folder, { recursive: true });
        await rm(copy, { recursive: true });
        return this.start();
      }
    }
  }

  async #put(journal: Journal, count: number, parts = {}): Promise<void> {
    const arrivals = await this.#journals.take(count, parts);
    expect(await journal.append(arrivals, TIMES)).toBe(true);
    this.ids.push(...idsOf(arrivals));
  }

  async #flush(journal: Journal, lost: LostCommit | undefined): Promise<void> {
    this.#lost = lost;
    const isEmpty = journal.oldestAt === undefined;
    const flushed = await journal.flush().then(
      () => true,
      () => false,
    );
    this.#lost = undefined;
    if (isEmpty) expect(flushed).toBe(true);
  }

  async #tear(): Promise<void> {
    const owner = { connector: this.#connector, instanceCode: "TEST" };
    const file = await JournalFile.open(join(this.#folder, `${this.#connector}.a`), owner);
    await file.read();
    const record = encodeRecord(file.mark, await this.#journals.take(1), AT);
    await file.append(record.subarray(0, record.length - 1));
    await file.close();
  }
}

test(
  "whatever happens, each message is in the ledger once and its orders are to be made in order",
  { timeout: 180_000 },
  () =>
    withJournals(async (journals) => {
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
          runs += 1;
          const connector = `lims-${runs}`;
          const world = new World(journals, connector);
          let journal = await world.start();
          for (const each of steps) journal = await world.take(journal, each);
          await world.end();
          journal = await world.start();
          await journal.empty();
          await world.end();
          const taken = await journals.messages(connector);
          expect(idsOf(taken)).toEqual(world.ids);
          expect(taken.every((message) => message.is_digest_right)).toBe(true);
          expect(await journals.due(connector)).toEqual(world.ids);
        }),
        { numRuns: 12, seed: 20_261_122, endOnFailure: true },
      );
    }),
);
