import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { withCutWay } from "../../support/cut-way.ts";
import { withLedger } from "../../support/with-ledger.ts";
import { withPages } from "./with-pages.ts";

test("each page says that the ledger does not answer, while that takes what it is asked and says nothing", () =>
  withLedger((ledger) =>
    withCutWay(ledger, async ({ pool, hang }) => {
      // The ledger's five seconds are over soon; it never answers.
      const sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal);
      const clock = { ...systemClock, sleep };
      await withPages(
        async ({ operator }) => {
          await pool.query("select 1");
          const goOn = hang();
          try {
            for (const path of ["/queue", "/orders", "/messages", "/workers", "/alerts"])
              expect(await operator.open(path), path).toContain(
                '"CONSOLE_LEDGER_SILENT","message":"the ledger gave no answer within 5 s"',
              );
          } finally {
            goOn();
          }
        },
        { pool, deps: { clock } },
      );
    }),
  ));
