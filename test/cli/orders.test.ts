import { describe, expect, it } from "vitest";
import { standIn } from "../support/worker.ts";
import { csvMessage, hl7Message, PATIENT, withLab } from "./with-lab.ts";

/** What nobody may see who didn't ask for it. */
const SECRETS = Object.values(PATIENT);

/** Parks orders as a worker would have. */
const PARK = `
update orders
   set state = 'parked', failure_code = 'SUBJECT_UNKNOWN', failure_text = 'no such subject', changed_at = now()
 where placer_order_number = any ($1)`;

describe("orders list", () => {
  it("shows orders newest first, without patients' data, and says when there are more", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3)]);
      const { status, stdout, stderr } = await cli(["orders", "list", "--limit", "2"]);
      expect(status).toBe(0);
      const [title, first, second, ...rest] = stdout.trimEnd().split("\n");
      expect(title).toMatch(/^ID +ORDER NUMBER +OPERATION +FACILITY +SUBJECT +STATE/);
      expect(first).toMatch(/^o3 +C-3 +STORE +NORTH +•••• +received/);
      expect(second).toMatch(/^o2 /);
      expect(rest).toEqual([]);
      expect(stderr).toContain("There are more than these 2");
      const one = await cli(["orders", "list", "--limit", "1"]);
      expect(one.stderr).toContain(
        "There are more than this one: --limit shows more, --before o3 the next ones.",
      );
      for (const secret of SECRETS) expect(stdout).not.toContain(secret);
    });
  });

  it("takes states, connector, subject and time together, and answers in JSON", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3, { subject_code: "PAT-OTHER" })]);
      await pool.query(PARK, [["C-1", "C-3"]]);
      const filters = [
        "--state",
        "parked,failed",
        "--subject",
        PATIENT.code,
        "--connector",
        "bench",
        "--since",
        "1h",
      ];
      const { stdout } = await cli(["orders", "list", ...filters, "--json"]);
      const { orders, hasMore } = JSON.parse(stdout);
      expect(hasMore).toBe(false);
      expect(orders).toEqual([
        {
          orderId: "o1",
          placerOrderNumber: "C-1",
          placerAuthority: null,
          operation: "STORE",
          facilityCode: "NORTH",
          facilityId: 12,
          connector: "bench",
          messageId: "m1",
          subjectCode: "••••",
          state: "parked",
          changedAt: expect.any(String),
          receivedAt: expect.any(String),
          submittedAt: null,
          nextAt: expect.any(String),
          attempts: 0,
          surface: null,
          requestId: null,
          procedureId: null,
          procedureCode: null,
          remoteStatus: null,
          heldAt: null,
          waitsFor: "SUBJECT_UNKNOWN: no such subject",
          reason: {
            code: "SUBJECT_UNKNOWN",
            text: "no such subject",
            hint: expect.stringContaining("Check"),
          },
        },
      ]);
      const before = await cli(["orders", "list", "--since", "2099-01-01"]);
      expect(before.stdout).toBe("No order is like that.\n");
    });
  });

  it("shows patients' data to who asks for it, and records that", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const { stdout } = await cli(["orders", "list", "--show-phi"]);
      expect(stdout).toContain(PATIENT.code);
      const { rows } = await pool.query("select actor, action, target from audit order by target");
      expect(rows).toEqual([
        { actor: expect.stringMatching(/\S/), action: "show-phi", target: "o1" },
        { actor: expect.any(String), action: "show-phi", target: "o2" },
      ]);
    });
  });

  it("colours states at a terminal only, and never with NO_COLOR", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK, [["C-1"]]);
      const hasColours = async (world: Parameters<typeof cli>[1]) =>
        (await cli(["orders", "list"], world)).stdout.includes("\u001b[");
      expect(await hasColours({ isTTY: true, columns: 200 })).toBe(true);
      expect(await hasColours({ isTTY: true, columns: 200, env: { NO_COLOR: "1" } })).toBe(false);
      expect(await hasColours({})).toBe(false);
    });
  });
});

describe("orders that a person knows by something else than their number", () => {
  it.each([
    ["a container label", "V-2", ["o2"]],
    ["the beginning of a file's name", "file-2", ["o4", "o3"]],
    ["a control id", "MSG0001", ["o5"]],
    ["an order number", "C-1", ["o1"]],
    ["an id", "o3", ["o3"]],
    ["nothing that is there", "V-99", []],
  ])("are found by %s", (_, word, expected) =>
    withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await take("bench", [csvMessage(3), csvMessage(4)]);
      await take("lims", [hl7Message(1)]);
      const { stdout } = await cli(["orders", "list", "--find", word, "--json"]);
      const ids = JSON.parse(stdout).orders.map(({ orderId }: { orderId: string }) => orderId);
      expect(ids).toEqual(expected);
    }),
  );

  it("are shown by that where it is one, and listed with the command that shows one where they are several", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const one = await cli(["orders", "show", "V-2"]);
      expect([one.status, one.stdout]).toEqual([
        0,
        expect.stringContaining("Order o2 (C-2): STORE, received"),
      ]);
      const several = await cli(["orders", "show", "file-1", "--show-phi"]);
      expect(several.status).toBe(0);
      expect(several.stdout).toMatch(/^ID +ORDER NUMBER .*\no2 +C-2 .*\no1 +C-1 .*\n$/);
      expect(several.stderr).toBe("Several orders have file-1. Choose one: cryobridge orders show o2\n");
      expect((await pool.query("select target from audit order by 1")).rows).toEqual([
        { target: "o1" },
        { target: "o2" },
      ]);
    }));
});

describe("orders show", () => {
  it("shows by order number what came in, why it waits, and its timeline, without patients' data", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1)]);
      const { status, stdout } = await cli(["orders", "show", "C-1"]);
      expect(status).toBe(0);
      expect(stdout).toContain("Order o1 (C-1): STORE, received since");
      expect(stdout).toContain("Why is it waiting? No daemon works on this ledger right now");
      expect(stdout).toMatch(/message +m1 through bench: file-1\.csv, line 2/);
      expect(stdout).toMatch(/V-1 +••••/);
      expect(stdout).toContain("came in as line 2");
      expect(stdout).toContain("Results for the lab");
      for (const secret of SECRETS) expect(stdout).not.toContain(secret);
    });
  });

  it("shows the whole patient to who asks, and records that", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      const { stdout } = await cli(["orders", "show", "o1", "--show-phi", "--json"]);
      const [order] = JSON.parse(stdout).orders;
      expect(order.subject).toEqual(PATIENT);
      expect(order.containers[0].description).toBe(`serum ${PATIENT.lastName}`);
      expect(order.timeline).toMatchObject([
        { kind: "received", toState: "received", text: "came in as line 2" },
      ]);
      expect((await pool.query("select target from audit")).rows).toEqual([{ target: "o1" }]);
    });
  });

  it("lists all orders that carry a number", async () => {
    await withLab(async ({ cli, take }) => {
      await take("bench", [csvMessage(1)]);
      await take("bench", [csvMessage(1, { container_label: "V-OTHER" })]);
      const { orders } = JSON.parse((await cli(["orders", "show", "C-1", "--json"])).stdout);
      expect(orders.map((order: { orderId: string; state: string }) => [order.orderId, order.state])).toEqual(
        [
          ["o2", "parked"],
          ["o1", "received"],
        ],
      );
    });
  });

  it("names the earlier order of the same subject while a daemon runs", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      const daemon = await standIn(pool);
      const { stdout } = await cli(["orders", "show", "o2"]);
      await daemon.leave();
      expect(stdout).toContain("Why is it waiting? Order o1 of the same subject (received) came first");
    });
  });

  it("ends with status 5 when there is no such order", async () => {
    await withLab(async ({ cli }) => {
      const { status, stderr } = await cli(["orders", "show", "o99"]);
      expect(status).toBe(5);
      expect(stderr).toContain("no order o99");
    });
  });
});

describe("acting on orders", () => {
  it.each([
    [["orders", "retry"], []],
    [["orders", "discard"], []],
    [
      ["orders", "cancel"],
      ["--reason", "why"],
    ],
    [["results", "list", "--order"], []],
  ])("finds what orders show finds, and says who is meant where a word has several: %s", (command, more) =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(PARK, [["C-1", "C-2"]]);
      const several = await cli([...command, "file-1", ...more]);
      expect(several.status).toBe(2);
      expect(several.stderr).toMatch(
        /file-1 names several orders.*: o2 \(C-2\) STORE parked, o1 \(C-1\) STORE parked/,
      );
      const states = await pool.query("select state from orders");
      expect(states.rows).toEqual([{ state: "parked" }, { state: "parked" }]);
      const one = await cli([...command, "V-2", ...more]);
      expect([one.status ?? 0, one.stderr]).toEqual([0, expect.not.stringContaining("no order")]);
      if (command[0] === "orders") expect(one.stdout).toContain("✓ o2 (C-2)");
    }),
  );

  it("retries one order without asking, with the reason in the audit", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK, [["C-1"]]);
      const { status, stdout } = await cli(["orders", "retry", "C-1", "--reason", "registered by hand"]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: "✓ o1 (C-1) will be tried again\n" });
      const audit = await pool.query("select action, target, detail from audit");
      expect(audit.rows).toEqual([
        { action: "retry", target: "o1", detail: { reason: "registered by hand" } },
      ]);
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "received" }]);
    });
  });

  it("asks before acting on more than one, and takes anything but yes for no", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(PARK, [["C-1", "C-2"]]);
      const countDiscarded = async () =>
        (await pool.query("select 1 from orders where state = 'discarded'")).rowCount;
      const refused = await cli(["orders", "discard", "--state", "parked"], { answer: "" });
      expect(refused.status).toBe(1);
      expect(await countDiscarded()).toBe(0);
      const agreed = await cli(["orders", "discard", "--state", "parked"], { answer: "y" });
      expect(agreed.status).toBe(0);
      expect(await countDiscarded()).toBe(2);
    });
  });

  it.each([[["--state", "parked"]], [["C-3", "o1", "o2"]]])(
    "acts in the order of receipt, whichever way they are chosen: %s",
    (words) =>
      withLab(async ({ cli, take, pool }) => {
        await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3)]);
        await pool.query(PARK, [["C-1", "C-2", "C-3"]]);
        const { stdout } = await cli(["orders", "retry", ...words, "--yes", "--json"]);
        const ids = JSON.parse(stdout).results.map(({ id }: { id: string }) => id);
        expect(ids).toEqual(["o1", "o2", "o3"]);
      }),
  );

  it("does nothing, instead of a part, where more orders than that are meant", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK, [["C-1"]]);
      await pool.query(`
        insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                            sources, content_digest, state, failure_code)
        select o.message_id, n, o.connector, o.operation, o.facility_code, o.facility_id, o.subject_code, o.subject,
               o.sources, o.content_digest, o.state, o.failure_code
          from orders o, generate_series(10, 10009) n`);
      const { status, stderr } = await cli(["orders", "discard", "--state", "parked", "--yes"]);
      expect([status, stderr]).toEqual([2, expect.stringContaining("more than 10000 orders are parked")]);
      expect((await pool.query("select from orders where state <> 'parked'")).rowCount).toBe(0);
    }));

  it("refuses to act on more than one where nobody can be asked, unless --yes says so", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(PARK, [["C-1", "C-2"]]);
      const unasked = await cli(["orders", "retry", "o1", "o2"]);
      expect(unasked.status).toBe(2);
      expect(unasked.stderr).toContain("--yes");
      expect((await pool.query("select 1 from audit")).rowCount).toBe(0);
      expect((await cli(["orders", "retry", "o1", "o2", "--yes"])).status).toBe(0);
    });
  });

  it("does nothing at all when one of the orders doesn't exist", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK, [["C-1"]]);
      expect((await cli(["orders", "retry", "o1", "o99", "--yes"])).status).toBe(5);
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "parked" }]);
    });
  });

  it("says which orders could not be changed, with status 1", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(PARK, [["C-1"]]);
      await pool.query("update orders set state = 'completed' where id = 2");
      const { status, stdout } = await cli(["orders", "retry", "o1", "o2", "--yes", "--json"]);
      expect(status).toBe(1);
      expect(JSON.parse(stdout).results).toEqual([
        { id: "o1", isDone: true, text: "o1 (C-1) will be tried again" },
        { id: "o2", isDone: false, text: "o2 (C-2) can't be changed that way: it is completed" },
      ]);
    });
  });

  it("acts on an order that is named by our number, and on none where two have a number of the service", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await pool.query(PARK, [["C-1", "C-2"]]);
      await pool.query("update orders set request_id = 1000 + id, procedure_id = 1003 - id");
      for (const verb of ["show", "retry"]) {
        const { status, stdout } = await cli(["orders", verb, "R1002"]);
        expect([status, stdout]).toEqual([0, expect.stringContaining("o2 (C-2)")]);
      }
      const several = await cli(["orders", "discard", "1001", "--reason", "why"]);
      expect(several.status).toBe(2);
      expect(several.stderr).toContain("1001 names several orders; nothing was done: o2 (C-2)");
      expect((await pool.query("select from orders where state = 'discarded'")).rowCount).toBe(0);
      expect((await cli(["orders", "discard", "P1002", "--reason", "why"])).stdout).toContain("o1 (C-1)");
    }));

  it("does nothing to an order whose number at the service alone is what was typed", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query("update orders set request_id = 4711");
      expect((await cli(["orders", "show", "4711"])).stdout).toContain("o1 (C-1)");
      const { status, stderr } = await cli(["orders", "cancel", "4711", "--reason", "why"]);
      expect(status).toBe(2);
      expect(stderr).toContain(
        "no order has the number 4711; nothing was done; order o1 (C-1) has it at the service",
      );
      expect(stderr).toContain("name it by its id: o1");
      expect((await pool.query("select from control_requests")).rowCount).toBe(0);
    }));

  it("says that an order has ended, or is at the service, and asks for no reason that would not help", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query("update orders set request_id = 1001");
      for (const state of ["completed", "submitted"]) {
        await pool.query("update orders set state = $1", [state]);
        const discarded = await cli(["orders", "discard", "o1"]);
        const linked = await cli(["orders", "resolve", "o1", "--request-id", "7"]);
        for (const { status, stdout } of [discarded, linked]) {
          expect(stdout).toBe(`✗ o1 (C-1) can't be changed that way: it is ${state}\n`);
          expect(status).toBe(1);
        }
      }
    }));

  it("names the order that has the request already to which another is to be linked", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query(PARK, [["C-2"]]);
      await pool.query("update orders set request_id = 1001, state = 'submitted' where id = 1");
      const { stderr } = await cli(["orders", "resolve", "o2", "--request-id", "1001", "--unchecked"]);
      expect(stderr).toContain(
        "order o1 (C-1) has request 1001 of the service already; nothing was done (REQUEST_CLAIMED)",
      );
      expect(stderr).toContain("`cryobridge orders show o1`");
    }));

  it("links a parked order to a request that a person found", async () => {
    await withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK, [["C-1"]]);
      expect((await cli(["orders", "resolve", "C-1", "--request-id", "1001", "--unchecked"])).status).toBe(0);
      const { rows } = await pool.query("select state, request_id::integer from orders");
      expect(rows).toEqual([{ state: "submitted", request_id: 1001 }]);
    });
  });
});
