import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";

test("a daemon prunes once it leads, and not only an hour after its start", () =>
  withSite({}, async (site) => {
    await site.pool.query(
      `insert into workers (name, host, pid, version, roles, connectors, ended_as, ended_at)
       values ('gone', 'h', 1, '0', '{}', '{}', 'stopped', now() - interval '20 years')`,
    );
    await site.start();
    await eventually(
      async () => {
        const { rows } = await site.pool.query("select from workers where name = 'gone'");
        return rows.length === 0 ? true : undefined;
      },
      { what: "the pruning" },
    );
    expect((await site.pool.query("select from workers")).rows).toHaveLength(1);
  }));
