import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { phi } from "../../../src/core/phi.ts";
import { createIntake } from "../../../src/jobs/intake/intake.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { csvMessage, hl7Message, hl7Text, PATIENT } from "../../cli/with-lab.ts";
import { facilityIdByCode, hl7Profile } from "../../mapping/mapped.ts";
import { eventually } from "../../support/eventually.ts";
import { silent } from "../../support/with-ledger.ts";
import { type Browser, withPages, wordsOf } from "./with-pages.ts";

/** Has a configuration's table connector send what became of orders alone. */
function withoutRefusals(text: string): string {
  return text
    .replace("type: csv-drop, directory: ./csv", "type: csv-drop, directory: ./csv, profile: quiet")
    .concat("\nprofiles: { quiet: { extends: builtin/csv-orders, results: { send: [completed] } } }\n");
}

const personal = Object.values(PATIENT);

describe("the list of messages", () => {
  test("finds messages by verdict, connector, control id, id and the beginning of their file's name", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2, { operation: "STORE", container_label: "" })]);
      await lab.take("lims", [hl7Message(1)]);
      const idsOf = (page: string) => [...page.matchAll(/href="\/messages\/(m\d+)"/g)].map(([, id]) => id);
      const rows = async (path: string) => idsOf(await operator.open(path));
      const found = async (find: string, more: Readonly<Record<string, string>> = {}) =>
        idsOf(await operator.send("/messages/filter", { find, ...more }));
      expect(await rows("/messages")).toEqual(["m3", "m2", "m1"]);
      expect(await rows("/messages?verdict=refused")).toEqual(["m2"]);
      expect(await rows("/messages?connector=lims")).toEqual(["m3"]);
      expect(await found("MSG0001")).toEqual(["m3"]);
      expect(await found("m1")).toEqual(["m1"]);
      expect(await found("file-1")).toEqual(["m2", "m1"]);
      expect(await found("file-1", { verdict: "accepted" })).toEqual(["m1"]);
      expect(await found("%")).toEqual([]);
      expect(await rows("/messages?before=m3")).toEqual(["m2", "m1"]);
    }));

  test("shows a page at a time", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take(
        "bench",
        Array.from({ length: 60 }, (_, n) => csvMessage(n + 1)),
      );
      const first = await operator.open("/messages?verdict=accepted");
      expect(first).toContain("/messages?verdict=accepted&#38;before=m11");
      expect(await operator.open("/messages?before=m11")).not.toContain("Older ones");
    }));

  test("escapes texts from outside", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { facility: "<script>x</script>" })]);
      for (const path of ["/messages", "/messages/m1"]) {
        const page = await operator.open(path);
        expect(page).not.toContain("<script>x");
        expect(wordsOf(page)).toContain("<script>x</script>");
      }
    }));
});

/** What a release says, also where a busy machine takes so long that a page shows how far it is. */
async function released(operator: Browser, fields: Readonly<Record<string, string>>): Promise<string> {
  const isSaid = (words: string) => /mapped again|No message was released/.test(words);
  const first = wordsOf(await operator.send("/messages/release", fields));
  if (isSaid(first)) return first;
  return eventually(async () => {
    const words = wordsOf(await operator.open(operator.at()));
    return isSaid(words) && words;
  });
}

describe("messages that wait for a code", () => {
  test("stand above the list with the line to add, and are released by a button that says what still waits", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { facility: "WEST" }), csvMessage(2, { facility: "EAST" })]);
      const page = wordsOf(await operator.open("/messages"));
      expect(page).toContain('1 message through bench waits for the facility "WEST"');
      expect(page).toContain('"WEST": ID');
      const answer = await released(operator, { code: "WEST", connector: "bench" });
      expect(answer).toContain("No message was released");
      expect(answer).toContain('Still waiting through bench: 1 for the facility "WEST"');
    }));

  test("are counted before anything is done with them, and make no work when none waits any more", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take(
        "bench",
        [1, 2, 3].map((n) => csvMessage(n, { facility: "WEST", subject_code: `S-${n}` })),
      );
      await operator.open("/messages");
      const fields = { code: "WEST", connector: "bench" };
      const asked = wordsOf(await operator.send("/messages/release/choose", fields));
      expect(asked).toContain('Release 3 messages through bench? They wait for the facility "WEST".');
      expect((await pool.query("select from audit")).rowCount).toBe(0);
      const none = await operator.send("/messages/release/choose", { ...fields, code: "EAST" });
      expect(wordsOf(none)).toContain('No message waits through bench for the code "EAST".');
    }));

  test("become orders by the button once the configuration that runs has the code", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1, { facility: "WEST" })]);
      await pool.query(
        `update messages set csv_rows = replace(csv_rows::text, 'WEST', 'NORTH')::jsonb, raw = 'x'`,
      );
      await operator.open("/messages");
      const answer = await released(operator, { code: "WEST", connector: "bench" });
      expect(answer).toContain("1 message mapped again: 1 accepted.");
      expect(wordsOf(await operator.open("/messages/m1"))).toContain("accepted");
    }));

  test("are named with their mistake where they are refused now, and the reason is kept", () =>
    withPages(async ({ lab, operator, pool }) => {
      const west = (n: number) => csvMessage(n, { facility: "WEST", subject_code: `S-${n}` });
      await lab.take("bench", [west(1), west(2)]);
      await pool.query(
        "update messages set csv_rows = replace(replace(csv_rows::text, 'WEST', 'NORTH'), 'C-2', '')::jsonb, raw = 'x'",
      );
      await operator.open("/messages");
      const fields = { code: "WEST", connector: "bench", reason: "added" };
      const answer = await released(operator, fields);
      expect(answer).toContain("2 messages mapped again: 1 accepted, 1 refused.");
      expect(answer).toMatch(/m2 refused .*column order_number: is empty/);
      expect(answer).not.toContain("m1 accepted");
      const { rows } = await pool.query("select detail from audit where action = 'release'");
      expect(rows).toMatchObject([{ detail: { code: "WEST", reason: "added" } }]);
    }));
});

describe("many messages at once", () => {
  test("are named before anything is done, and replayed in the order of receipt", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [
        csvMessage(1, { container_label: "" }),
        csvMessage(2),
        csvMessage(3, { facility: "WEST" }),
      ]);
      await operator.open("/messages");
      const asked = await operator.send("/messages/choose", {
        act: "replay",
        all: "yes",
        filter: "connector=bench",
      });
      expect(wordsOf(asked)).toContain("Replay 2 messages?");
      expect(wordsOf(asked)).toContain("1 message is left out: 1 waiting (a message that waits");
      expect((await pool.query("select from audit")).rowCount).toBe(0);
      const ids = /name="id" value="([^"]+)"/.exec(asked)?.[1] ?? "";
      expect(ids).toBe("m1 m2");
      const done = wordsOf(
        await operator.send("/messages/replay", { id: ids, reason: "the profile is corrected" }),
      );
      expect(done).toContain("2 messages mapped again: 1 refused, 1 duplicate.");
      const { rows } = await pool.query("select actor, action, target, detail from audit order by id");
      const by = {
        actor: "erika (console)",
        action: "replay",
        detail: { reason: "the profile is corrected" },
      };
      expect(rows).toEqual([
        { ...by, target: "m1" },
        { ...by, target: "m2" },
      ]);
    }));

  test("are discarded with a reason alone", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { facility: "WEST" }), csvMessage(2, { facility: "WEST" })]);
      await operator.open("/messages");
      const asked = await operator.send("/messages/choose", { act: "discard", id: "m2" });
      expect(wordsOf(asked)).toContain("Discard 1 message?");
      expect(wordsOf(await operator.send("/messages/discard", { id: "m2", reason: " " }))).toContain(
        "Say why",
      );
      const done = wordsOf(await operator.send("/messages/discard", { id: "m2", reason: "sent twice" }));
      expect(done).toContain("1 message discarded.");
      expect(wordsOf(await operator.open("/messages/m1"))).toContain("waiting");
    }));

  test("say of which discarded ones the lab hears nothing", () =>
    withPages(
      async ({ lab, operator }) => {
        await lab.take("bench", [csvMessage(1, { facility: "WEST" }), csvMessage(2, { facility: "WEST" })]);
        await operator.open("/messages");
        const done = wordsOf(await operator.send("/messages/discard", { id: "m1 m2", reason: "sent twice" }));
        expect(done).toContain("2 messages discarded. m1 is discarded; the lab gets no word of it");
      },
      { adapt: withoutRefusals },
    ));

  test("lead back to the list with their filter, whatever a browser sent as that", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1)]);
      await operator.open("/messages");
      const filter = "verdict=refused\r\nx-other: 1&connector=bench";
      await operator.send("/messages/choose", { act: "replay", filter });
      expect(operator.at()).toBe("/messages?verdict=refused%0D%0Ax-other%3A+1&connector=bench");
    }));

  test("are a thousand at most, and the one that can't be replayed stops no other", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("bench", [csvMessage(1), csvMessage(2)]);
      await pool.query("update messages set raw = null where id = 1");
      await operator.open("/messages");
      const done = wordsOf(await operator.send("/messages/replay", { id: "m1 m2" }));
      expect(done).toContain("1 message mapped again: 1 duplicate.");
      expect(done).toContain("m1 is left as it is: the text of m1 was pruned by retention");
      await pool.query(
        `insert into messages (connector, ordinal, place, sha256, format, verdict)
         select 'bench', n, '{"message": 2}', '', 'csv', 'refused' from generate_series(1, 1001) n`,
      );
      const asked = { act: "replay", all: "yes", filter: "verdict=refused" };
      expect(wordsOf(await operator.send("/messages/choose", asked))).toContain("narrow the filter");
    }));

  test("change nothing for a viewer, or without the page's token", () =>
    withPages(async ({ lab, operator, viewer, pool }) => {
      await lab.take("bench", [csvMessage(1, { facility: "WEST" })]);
      expect(await viewer.open("/messages")).not.toContain('name="id"');
      await operator.open("/messages");
      const forms = ["choose", "replay", "discard", "release", "m1/replay", "m1/discard", "m1/show"];
      const fields = { id: "m1", act: "discard", reason: "none" };
      for (const form of forms) {
        expect(await viewer.send(`/messages/${form}`, fields)).toContain("Nothing was done");
        expect(await operator.send(`/messages/${form}`, fields, "another")).toContain("Nothing was done");
      }
      const { rows } = await pool.query("select verdict from messages");
      expect(rows).toEqual([{ verdict: "waiting" }]);
      expect((await pool.query("select from audit")).rowCount).toBe(0);
    }));
});

describe("the page of a message", () => {
  test("says why it is refused again", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1, { container_label: "" })]);
      await operator.open("/messages/m1");
      const done = wordsOf(await operator.send("/messages/m1/replay", {}));
      expect(done).toMatch(/m1 refused again line 2, column container_label: .* \(MAPPING_NO_CONTAINER\)/);
    }));

  test("shows an HL7 message as a tree with the names of its fields, the patient hidden until asked for", () =>
    withPages(async ({ lab, operator, viewer, pool }) => {
      await lab.take("lims", [hl7Message(1)]);
      for (const who of [operator, viewer]) {
        const page = wordsOf(await who.open("/messages/m1"));
        expect(page).toContain("SAC-3 VIAL-1 Container Identifier");
        expect(page).toContain("ORC-1 NW New order/service Order Control");
        expect(page).toContain("PID-3.1 •••• Patient Identifier List, ID Number");
        for (const value of personal) expect(page).not.toContain(value);
      }
      const shown = wordsOf(await operator.send("/messages/m1/show"));
      expect(shown).toContain(`PID-3.1 ${PATIENT.code}`);
      expect(shown).toContain(`PID|1||${PATIENT.code}^^^LAB^MR||${PATIENT.lastName}^${PATIENT.firstName}`);
      const { rows } = await pool.query("select actor, action, target from audit");
      expect(rows).toEqual([{ actor: "erika (console)", action: "show-phi", target: "m1" }]);
      expect(wordsOf(await operator.open("/messages/m1"))).not.toContain(PATIENT.lastName);
    }));

  test("shows the rows of a table under the names of their columns once asked for", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1)]);
      const page = wordsOf(await operator.open("/messages/m1"));
      expect(page).toContain("1 row with the columns order_number , operation");
      for (const value of personal) expect(page).not.toContain(value);
      const shown = wordsOf(await operator.send("/messages/m1/show"));
      expect(shown).toContain("2 C-1 STORE NORTH PAT-4711 Ottilie Quersack 1981-02-03");
    }));

  test("names each problem with its place and what to do, and the reply that was sent for it", () =>
    withPages(async ({ lab, operator, pool }) => {
      await lab.take("lims", [hl7Message(1, { facility: "WEST" })]);
      await pool.query("update messages set reply = $1", [
        Buffer.from("MSH|^~\\&|CRYO\rMSA|AA|MSG0001\rPID|1||PAT-4711\r"),
      ]);
      const page = wordsOf(await operator.open("/messages/m1"));
      expect(page).toContain("Why is it waiting?");
      expect(page).toContain("MAPPING_FACILITY_UNKNOWN");
      expect(page).toContain(
        "Answered on the connection that it came by. MSH|^~\\&|•••• MSA|AA|MSG0001 PID|••••",
      );
    }));

  test("hides of its answer whatever a profile may have filled with a patient's value, and shows what became of it", () =>
    withPages(async ({ lab, pool, operator }) => {
      const fields = { "ORC-16": "Ward of {PID-5.1}", "MSH-6": "{PID-5.2}", "ORC-21": "{PID-3.1}" };
      const profile = await hl7Profile({ results: { fields } });
      const mapper = createMapper(profile, { facilityIdByCode });
      const reusedControlId = "take" as const;
      const form = { form: "order", applicationAck: "connection", reusedControlId } as const;
      const replies = { profile, ...form, instanceCode: "ABC123" };
      const intake = createIntake({
        ...{ pool, worker: { id: 1, isSure: true }, clock: systemClock, logger: silent },
        rules: () => ({ instanceCode: "ABC123", byConnector: new Map([["lims", { mapper, replies }]]) }),
        onCommitted: () => {},
      });
      const peer = { address: "10.0.0.9" };
      const texts = [hl7Text(), hl7Text({ facility: "NOWHERE", number: "P-2" }).replace("|NW|", "|ZZ|")];
      const messages = texts.map((text, n) => ({
        ...hl7Message(n + 1),
        content: { kind: "hl7" as const, text: phi(text) },
      }));
      const [taken, refused] = await intake.accept({ connector: "lims", peer }, messages);
      expect(`${taken?.reply}${refused?.reply}`).toMatch(/Ward of Quersack[\s\S]*Ward of Quersack/);
      for (const [id, code] of [
        ["m1", "AA"],
        ["m2", "AE"],
      ]) {
        const page = wordsOf(await operator.open(`/messages/${id}`));
        const shown = (await lab.cli(["messages", "show", `${id}`])).stdout;
        for (const text of [page, shown]) {
          expect(text).toContain(`MSA|${code}|MSG0001`);
          for (const value of personal) expect(text).not.toContain(value);
        }
      }
      expect(wordsOf(await operator.open("/messages/m2"))).toContain("ZZ");
      expect((await lab.cli(["messages", "show", "m2", "--show-phi"])).stdout).toContain("Ward of Quersack");
    }));

  test("links its orders, and says so when there is no such message", () =>
    withPages(async ({ lab, operator }) => {
      await lab.take("bench", [csvMessage(1)]);
      expect(await operator.open("/messages/m1")).toContain('href="/orders/o1"');
      expect(await operator.open("/messages/m2")).toContain("Not found");
      expect(await operator.open("/messages/x")).toContain("Not found");
    }));
});
