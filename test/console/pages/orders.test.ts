import { describe, expect, test } from "vitest";
import { createSimulator } from "../../../src/simulator/simulator.ts";
import { csvMessage, hl7Message, PATIENT } from "../../cli/with-lab.ts";
import { presumeAll } from "../../support/calls.ts";
import { withPages, wordsOf } from "./with-pages.ts";

const idsOf = (page: string) => [...page.matchAll(/href="\/orders\/(o\d+)"/g)].map(([, id]) => id);
const PARK = `update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'nothing proves it'`;

describe("the list of orders", () => {
  test("finds an order by number, id, container label, control id and the beginning of its file's name", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await lab.take("lims", [hl7Message(1)]);
      const rows = async (query: string) => idsOf(await operator.open(`/orders?${query}&failure=`));
      const found = async (find: string, more: Readonly<Record<string, string>> = {}) =>
        idsOf(await operator.send("/orders/filter", { find, failure: "", ...more }));
      expect(await rows("")).toEqual(["o3", "o2", "o1"]);
      expect(await found("C-2")).toEqual(["o2"]);
      expect(await found("o1")).toEqual(["o1"]);
      expect(await found("V-1")).toEqual(["o1"]);
      expect(await found("MSG0001")).toEqual(["o3"]);
      expect(await found("file-1")).toEqual(["o2", "o1"]);
      expect(idsOf(await operator.open(`${operator.at()}&before=o2`))).toEqual(["o1"]);
      expect(await found("%")).toEqual([]);
      expect(await found("file-1", { connector: "lims" })).toEqual([]);
      expect(operator.at()).toContain("connector=lims");
      for (const states of ["state=received&state=parked", "state=received%2Cparked"]) {
        expect(await rows(states)).toEqual(["o3", "o2", "o1"]);
      }
      expect(await rows("state=failed%2Cparked")).toEqual([]);
    }));

  test("escapes texts from outside", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { order_number: "<script>x</script>" })]);
      for (const path of ["/orders", "/orders/o1"])
        expect(await operator.open(path)).not.toContain("<script>x");
      expect(await operator.send("/orders/filter", { find: "<script>x" })).not.toContain("<script>x");
    }));
});

describe("many orders at once", () => {
  test("are named before anything is done, and tried in the order of receipt", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await pool.query(PARK);
      await operator.open("/orders");
      const asked = wordsOf(
        await operator.send("/orders/choose", { act: "retry", all: "yes", filter: "state=parked" }),
      );
      expect(asked).toContain("Try 2 orders?");
      expect(asked).toMatch(/o1 \(C-1\) · STORE · parked .*o2 \(C-2\)/);
      expect((await pool.query("select state from orders")).rows).toEqual([
        ...[{ state: "parked" }, { state: "parked" }],
      ]);
      const done = wordsOf(await operator.send("/orders/retry", { id: "o2 o1", reason: "it is back" }));
      expect(done).toContain("2 orders will be tried now.");
      const { rows } = await pool.query("select actor, action, target from audit order by id");
      expect(rows).toEqual([
        { actor: "erika (console)", action: "retry", target: "o1" },
        { actor: "erika (console)", action: "retry", target: "o2" },
      ]);
    }));

  test("are split into those that something is done to and those that are left out, by their states", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take(
        "bench",
        [1, 2, 3, 4, 5].map((n) => csvMessage(n, { subject_code: `S-${n}` })),
      );
      await pool.query(
        `update orders
            set state = ('{completed,completed,failed,submitted,parked}'::text[])[id],
                failure_code = 'SUBMIT_UNCERTAIN', request_id = id`,
      );
      await operator.open("/orders");
      const asked = async (act: string) =>
        wordsOf(await operator.send("/orders/choose", { act, all: "yes", filter: "" }));
      expect(await asked("retry")).toMatch(/Try 3 orders\?.* 2 orders are left out: 2 completed\./);
      expect(await asked("cancel")).toMatch(
        /Cancel 1 order\?.* 4 orders are left out: 2 completed, 1 failed, 1 submitted\./,
      );
      expect(await asked("discard")).toMatch(
        /Discard 2 orders\?.* 3 orders are left out: 2 completed, 1 submitted\./,
      );
      const none = await operator.send("/orders/choose", { act: "retry", id: "o1" });
      expect(wordsOf(none)).toContain("1 order is left out: 1 completed.");
    }));

  test("are named where the service has forgotten them, before they are discarded", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "S-2" })]);
      await pool.query(
        "update orders set state = 'submitted', request_id = 71, missing_since = now() where id = 2",
      );
      await operator.open("/orders");
      const asked = wordsOf(await operator.send("/orders/choose", { act: "discard", all: "yes" }));
      expect(asked).toContain("Discard 2 orders?");
      expect(asked).toContain("Of o2 (C-2) the service had a request and does not know it any more");
      const page = wordsOf(await operator.open("/orders/o2"));
      expect(page).toContain("has discarded. Of it the service had a request");
    }));

  test("say what could not be done to some of them", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "OTHER" })]);
      await pool.query("update orders set state = 'completed' where id = 1");
      await operator.open("/orders");
      const done = wordsOf(await operator.send("/orders/discard", { id: "o1 o2", reason: "twice" }));
      expect(done).toContain("1 order of 2 discarded.");
      expect(done).toContain("o1 (C-1) can't be changed that way: it is completed");
    }));

  test("stay as they are without a reason, without the form's token, and for who may only look", () =>
    withPages(async ({ lab, operator, viewer, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      await operator.open("/orders");
      expect(wordsOf(await operator.send("/orders/cancel", { id: "o1" }))).toContain("Say why");
      await operator.send("/orders/cancel", { id: "o1", reason: "x" }, "another");
      expect(await viewer.open("/orders")).not.toContain('name="id"');
      await viewer.send("/orders/cancel", { id: "o1", reason: "x" });
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "received" }]);
    }));
});

describe("an order's page", () => {
  test('has "Try now" while that does something: not on hold, and also while the service has the order', () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      const hasButton = async () => (await operator.open("/orders/o1")).includes(">Try now</summary>");
      expect(await hasButton()).toBe(true);
      await pool.query("update orders set held_at = now()");
      expect(await hasButton()).toBe(false);
      await pool.query("update orders set held_at = null, state = 'submitted', request_id = 7");
      expect(await hasButton()).toBe(true);
      expect(wordsOf(await operator.send("/orders/o1/retry"))).toContain("o1 (C-1) will be tried again");
    }));

  test("has the button that its hint names for going past a match, and none where nothing matches", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      const name = "Have it done although it matches another";
      const park = "update orders set state = 'parked', failure_text = 'x', failure_code = $1";
      for (const code of ["SUBMIT_FORGOTTEN_REQUEST", "ORDER_CONTAINER_IN_OPEN_ORDER"]) {
        await pool.query(park, [code]);
        const page = await operator.open("/orders/o1");
        expect(page).toContain(`“${name}”`);
        expect(page).toContain(`>${name}</summary>`);
      }
      await pool.query(park, ["ORDER_TRIED_TOO_OFTEN"]);
      expect(await operator.open("/orders/o1")).not.toContain(name);
      await pool.query(park, ["SUBMIT_FORGOTTEN_REQUEST"]);
      await presumeAll(pool);
      await pool.query("update calls set look_at = null");
      await operator.send("/orders/o1/override", { reason: "another order's" });
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "received" }]);
      expect((await pool.query("select outcome, is_approved from calls")).rows).toEqual([
        { outcome: "nothing", is_approved: true },
      ]);
    }));

  test("names its own buttons where it says why the order waits, and what came of an act", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      await pool.query("update orders set held_at = now()");
      const page = await operator.open("/orders/o1");
      expect(wordsOf(page)).toContain("or by “Release”.");
      expect(page).toContain(">Release</summary>");
      await pool.query(PARK);
      const done = wordsOf(await operator.send("/orders/o1/retry"));
      expect(done).toContain("it stays on hold (“Release”)");
    }));

  test("offers no cancelling of what the service has without a cancel call, and says so; a try is in the audit", () =>
    withPages(async ({ lab, operator, viewer, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      expect(await operator.open("/orders/o1")).toContain(">Cancel the order</button>");
      await pool.query("update orders set state = 'in_progress', request_id = 7");
      const page = await operator.open("/orders/o1");
      expect(page).not.toContain("/orders/o1/cancel");
      expect(wordsOf(page)).toMatch(/\) in progress .*It can't be cancelled here: the service has it/);
      await operator.send("/orders/o1/cancel", { reason: "twice" });
      expect((await pool.query("select action, target, detail from audit")).rows).toEqual([
        { action: "cancel", target: "o1", detail: { reason: "twice", refused: "CANCEL_NOT_OFFERED" } },
      ]);
      await pool.query(PARK);
      expect(wordsOf(await viewer.open("/orders/o1"))).toContain("is for an operator");
      expect(wordsOf(await operator.open("/orders/o1"))).not.toContain("is for an operator");
    }));

  test("shows the patient's data until somebody hides them again", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1)]);
      for (const path of ["/orders/o1", "/messages/m1"]) {
        expect(await operator.open(path)).not.toContain("Hide the patient");
        const shown = await operator.send(`${path}/show`);
        expect(shown).toContain(PATIENT.lastName);
        expect(shown).toContain(`href="${path}">Hide the patient`);
      }
    }));

  test("does nothing dangerous for a reason of blanks alone", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1)]);
      await pool.query(PARK);
      await operator.open("/orders/o1");
      for (const act of ["discard", "override", "cancel", "send-again"]) {
        const page = await operator.send(`/orders/o1/${act}`, { reason: " \t" });
        expect(wordsOf(page)).toContain("Say why: nothing was done.");
        expect(operator.at()).toBe("/orders/o1");
      }
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "parked" }]);
    }));

  test("is not that of another order which has its id as number, once it is gone", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { order_number: "o7" })]);
      expect(wordsOf(await operator.open("/orders/o7"))).toContain("Not found");
    }));

  test("says on the order's own page that the service can't be asked what a person links it to, without credentials, and shows settings as such", () =>
    withPages(
      async ({ lab, operator, pool }) => {
        await lab.take("bench", [csvMessage(1)]);
        await pool.query(PARK);
        const page = await operator.open("/orders/o1");
        expect(page).toContain("the lab hears it where <code>results.send</code> of its profile");
        const told = wordsOf(await operator.send("/orders/o1/resolve", { number: "999" }));
        expect(operator.at()).toBe("/orders/o1");
        expect(told).toMatch(/\(SERVICE_[A-Z_]+\)\./);
        expect(told).toContain("***");
        expect(told).not.toContain("127.0.0.1:9");
      },
      { deps: { mask: (text) => text.replaceAll("127.0.0.1:9", "***") } },
    ));

  test("links a parked order by the one number that the service has for it, whichever surface it goes by", async () => {
    const simulator = await createSimulator({ port: 0, staff: { auto: false }, device: { auto: false } });
    const adapt = (text: string) =>
      text
        .replace("http://127.0.0.1:9", simulator.url)
        .replace(/auth: .*/, "auth: { apiToken: simulator-api-token }")
        .replace("NORTH: 12", "NORTH: { id: 12, surface: external }");
    try {
      await withPages(
        async ({ lab, operator, pool }) => {
          const { code: subjectCode, ...names } = PATIENT;
          simulator.control.addSubject({ facilityId: 12, code: subjectCode, ...names });
          const answer = await fetch(`${simulator.url}/api/v1/external/procedures`, {
            method: "POST",
            headers: { authorization: "Bearer simulator-api-token", "content-type": "application/json" },
            body: JSON.stringify({
              ...{ type: "STORE", facilityId: 12, subjectCode },
              sampleContainers: [{ name: "V-1", description: "" }],
            }),
          });
          const number = String(((await answer.json()) as { id: number }).id);
          await lab.take("bench", [csvMessage(1)]);
          await pool.query(PARK);
          expect(wordsOf(await operator.open("/orders/o1"))).toContain("Procedure request or procedure");
          const wrong = wordsOf(await operator.send("/orders/o1/resolve", { number: "999" }));
          expect(wrong).toContain("shows no STORE procedure 999 for the order's subject");
          expect(wrong).not.toContain("--unchecked");
          expect(wordsOf(await operator.send("/orders/o1/resolve", { number: "1e3" }))).toContain(
            "by a number",
          );
          await operator.send("/orders/o1/resolve", { number });
          const { rows } = await pool.query("select state, request_id, procedure_id::text as id from orders");
          expect(rows).toEqual([{ state: "submitted", request_id: null, id: number }]);
        },
        { adapt },
      );
    } finally {
      await simulator.close();
    }
  });

  test("offers to go on without comparing while a restored ledger is compared", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { subject_code: "S-2" })]);
      await pool.query(
        "update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'x' where id = 2",
      );
      expect(await operator.open("/orders/o1")).not.toContain("release-after-restore");
      await pool.query("update ledger set restored_at = now(), restored_by = 'x', forgotten_since = now()");
      await presumeAll(pool, "o.id = 1");
      for (const path of ["/orders/o1", "/orders"]) {
        const page = await operator.open(path);
        expect(page).toContain("/orders/release-after-restore");
        expect(wordsOf(page)).toMatch(
          /1 open order was not compared .* nothing guards them from being sent once/,
        );
      }
      const answer = await operator.send("/orders/release-after-restore", { reason: "all was sent again" });
      expect(wordsOf(answer)).toContain("1 was not compared");
      expect((await pool.query("select action from audit")).rows).toEqual([
        { action: "release-after-restore" },
      ]);
    }));
});
