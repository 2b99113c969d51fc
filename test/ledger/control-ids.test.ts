import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import {
  BY_INDEX,
  hasControlId,
  hasWaiting,
  READ_CONTROL_IDS,
  readControlIds,
} from "../../src/ledger/control-ids.ts";
import { inTransaction } from "../../src/ledger/database.ts";
import { lockControlIds } from "../../src/ledger/lock-messages.ts";
import { discardMessage } from "../../src/ledger/release-messages.ts";
import { listMessages } from "../../src/ledger/views.ts";
import { isAwaited } from "../support/cut-way.ts";
import { aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Messages with these control ids, in this order. */
async function fill(
  pool: pg.Pool,
  ids: readonly (string | null)[],
  { connector = "lims", verdict = "accepted" } = {},
): Promise<void> {
  await pool.query(
    `insert into messages (connector, ordinal, place, message_control_id, sha256, format, verdict)
     select $1, n, 'message 1', x.id, sha256(n::text::bytea), 'hl7', $2
       from unnest($3::text[]) with ordinality as x(id, n)`,
    [connector, verdict, ids],
  );
}

async function pagesOf(pool: pg.Pool, connector: string, most?: number): Promise<(readonly string[])[]> {
  const pages: (readonly string[])[] = [];
  for await (const page of readControlIds(pool, connector, most)) pages.push(page);
  return pages;
}

const counted = (count: number) => Array.from({ length: count }, (_, n) => `C${n}`);

describe("the control ids of a connector's messages", () => {
  test("are read page by page, none left out", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, counted(1_000));
      const pages = await pagesOf(pool, "lims", 64);
      expect(pages.length).toBe(16);
      expect(pages.every(({ length }) => length <= 64)).toBe(true);
      expect(pages.flat().sort()).toEqual(counted(1_000).sort());
    }));

  test("end with a page that is just full", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, counted(20));
      expect((await pagesOf(pool, "lims", 10)).flat()).toHaveLength(20);
    }));

  test("are none while no message came", () =>
    withLedger(async ({ pool }) => {
      expect(await pagesOf(pool, "lims")).toEqual([]);
    }));

  test("are those of this connector alone, whoever else uses the same", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, ["A", "B", "C"], { connector: "lim" });
      await fill(pool, ["A", "C", "D"]);
      await fill(pool, ["B", "C", "E"], { connector: "lims2" });
      expect((await pagesOf(pool, "lims", 2)).flat()).toEqual(["A", "C", "D"]);
    }));

  test("are those of messages that have one, also of an empty one", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, [null, "B", null, "", "A", null]);
      expect((await pagesOf(pool, "lims", 2)).flat()).toEqual(["", "A", "B"]);
    }));

  test("that many messages share go over the end of a page without an end, and without those behind them being left out", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, ["A", ...Array(50).fill("SAME"), "T", "U", ...Array(7).fill("V"), "W"]);
      for (const most of [1, 2, 3, 7, 52]) {
        const ids = (await pagesOf(pool, "lims", most)).flat();
        expect([...new Set(ids)]).toEqual(["A", "SAME", "T", "U", "V", "W"]);
      }
    }));

  test("cost no more than a page where all messages share one", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, Array(1_000).fill("SAME"));
      expect(await pagesOf(pool, "lims", 10)).toHaveLength(1);
    }));

  test("are there whatever became of the messages", () =>
    withLedger(async ({ pool }) => {
      const verdicts = ["accepted", "duplicate", "refused", "ignored", "waiting"];
      for (const verdict of verdicts) await fill(pool, [verdict], { verdict });
      expect((await pagesOf(pool, "lims")).flat().sort()).toEqual([...verdicts].sort());
    }));

  test("come as they were written, whatever characters they are made of", () =>
    withLedger(async ({ pool }) => {
      const odd = [
        '"',
        "\\",
        "'",
        "a b",
        "\t",
        "\u001f",
        "é",
        "É",
        "ß",
        "Ж",
        "\u{1f9ea}",
        "\ufffd",
        "-1",
        "{}",
      ];
      await fill(pool, odd);
      expect((await pagesOf(pool, "lims", 3)).flat().sort()).toEqual([...odd].sort());
    }));

  test.each([0, 5, 2_000])("are read in the order of their index when there are %i messages", (count) =>
    withLedger(async ({ pool }) => {
      await fill(pool, counted(count));
      for (const prepare of ["", "analyze messages"]) {
        await pool.query(prepare);
        for (const behind of ["'', 0", "'C5', 9223372036854775807"]) {
          const [from = "", id = ""] = behind.split(", ");
          const text = READ_CONTROL_IDS.replace("$1", "'lims'")
            .replace("$2", from)
            .replace("$3", id)
            .replace("$4", "20000");
          const plan = await inTransaction(pool, async (client) => {
            await client.query(BY_INDEX);
            const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain ${text}`);
            return rows.map((row) => row["QUERY PLAN"]).join("\n");
          });
          expect(plan).toMatch(
            /Index (Only )?Scan using messages_control_id on messages m.*\n.*Index Cond: .*connector = 'lims'.*ROW\(/,
          );
          expect(plan).not.toMatch(/Sort|Seq Scan|Bitmap|Filter/);
        }
      }
    }),
  );

  test("leave the planner as it was for whoever has the connection next", () =>
    withLedger(async ({ pool }) => {
      await fill(pool, counted(3));
      await pagesOf(pool, "lims", 2);
      const { rows } = await pool.query(
        "select current_setting('enable_seqscan') as seqscan, current_setting('enable_sort') as sort",
      );
      expect(rows).toEqual([{ seqscan: "on", sort: "on" }]);
    }));
});

test("whether a control id is there is told when the message that is being committed under it is", () =>
  withLedger(async ({ pool }) => {
    const held = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const committing = inTransaction(pool, async (client) => {
      await lockControlIds(client, "lims", ["C-1"]);
      locked.resolve();
      await held.promise;
      await client.query(
        `insert into messages (connector, ordinal, place, message_control_id, sha256, format, verdict)
         values ('lims', 1, 'message 1', 'C-1', '', 'hl7', 'accepted')`,
      );
    });
    await locked.promise;
    const looking = hasControlId(pool, "lims", ["C-2", "C-1"]);
    await Promise.race([looking, isAwaited(pool)]);
    expect(await hasControlId(pool, "bench", ["C-1"])).toBe(false);
    held.resolve();
    await committing;
    expect(await looking).toBe(true);
  }));

describe("whether a message waits", () => {
  test("is known for each connector, until the last one is settled", () =>
    withLedger(async ({ pool }) => {
      expect(await hasWaiting(pool, "lims")).toBe(false);
      const waiting = aRecord(1, [], {
        verdict: "waiting",
        problems: [
          { code: "MAPPING_FACILITY_UNKNOWN", place: "message 1", message: "unknown", unknownCode: "WEST" },
        ],
        subjectCodes: [phi("SUBJ-1")],
        orderNumbers: ["A-1"],
      });
      await commit(pool, [waiting]);
      const [message] = await listMessages(pool, { limit: 1 });
      expect(await hasWaiting(pool, "lims")).toBe(true);
      expect(await hasWaiting(pool, "bench")).toBe(false);
      await discardMessage(pool, Number(message?.messageId.slice(1)), { actor: "ada", reason: "sent anew" });
      expect(await hasWaiting(pool, "lims")).toBe(false);
    }));
});
