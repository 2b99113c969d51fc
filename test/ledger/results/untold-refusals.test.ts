import { expect, test } from "vitest";
import { toMessage } from "../../../src/connectors/hl7-drop/hl7-drop.ts";
import { composeMessages } from "../../../src/jobs/deliver/compose.ts";
import { closeTask, countOpenTasks, listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { recordComposition } from "../../../src/ledger/results/composition.ts";
import { listOpenOutcomes } from "../../../src/ledger/results/outcomes.ts";
import { builtinProfiles } from "../../../src/mapping/profile/builtin.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { withIntakes } from "../../support/with-intakes.ts";

/** An order whose birth date is a year alone, which is refused. */
const wrong = (number: string, wants: string) =>
  omlO33({ number, birth: "1985" }).replace("|||AL|NE||", `|||${wants}||`);

async function profileSending(results: ProfileDefinition["results"]) {
  const builtin = builtinProfiles["builtin/hl7-orders"];
  if (!builtin) throw new Error("no built-in profile");
  const definition = { ...builtin, results: { ...builtin.results, ...results } };
  const compiled = await compileProfile("sending", definition, { loadModule: async () => ({}) });
  if (!compiled.ok) throw new Error("the profile has mistakes");
  return compiled.profile;
}

test.each([["NE|NE"], ["NE|SU"], ["SU|SU"], ["SU|NE"]])(
  "a person is asked to see to a refused message whose sender wants no answer that says so (%s)",
  (wants) =>
    withIntakes(async ({ pool, open }) => {
      const intake = await open();
      const [received] = await intake.take(wrong("A-1", wants));
      expect(received).toMatchObject({ verdict: "refused", reply: undefined });
      expect(await listOpenTasks(pool, 10)).toEqual([
        expect.objectContaining({
          kind: "refusal",
          messageId: "m1",
          orderId: undefined,
          text: expect.stringContaining("PID-7"),
        }),
      ]);
      expect(await countOpenTasks(pool)).toMatchObject([{ kind: "refusal", count: 1 }]);
    }),
);

test.each(["|", "AL|NE", "AL|AL", "NE|AL", "ER|NE", "NE|ER"])(
  "nobody is asked where the sender was told (%s), or where all was right",
  (wants) =>
    withIntakes(async ({ pool, open }) => {
      const intake = await open();
      const [received] = await intake.take(wrong("A-1", wants));
      expect(received?.reply).toBeDefined();
      await intake.take(omlO33({ number: "A-2" }).replace("|||AL|NE||", "|||NE|NE||"));
      expect(await listOpenTasks(pool, 10)).toEqual([]);
    }),
);

test.each([
  ["that sends no refusals asks a person", ["completed"], ["refusal"], 0],
  ["that sends refusals sends this one", ["completed", "refused"], [], 1],
] as const)("of a refusal that goes out with the results a profile %s", (_words, sent, kinds, deliveries) =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open({ applicationAck: "results" });
    const [received] = await intake.take(wrong("A-1", "AL|AL"));
    expect(received?.reply?.toString()).toContain("MSA|CA|");
    const profile = await profileSending({ send: [...sent] });
    const composition = await composeMessages(await listOpenOutcomes(pool, "hl7", 10), profile);
    await recordComposition(pool, "hl7", composition);
    expect((await listOpenTasks(pool, 10)).map(({ kind }) => kind)).toEqual(kinds);
    expect((await pool.query("select from deliveries")).rowCount).toBe(deliveries);
  }),
);

test("a message that can't be read is refused with the results where its application acknowledgement goes there", () =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open({ applicationAck: "results" });
    const text = omlO33({ number: "A-1", birth: "\u00e4" }).replace("|||AL|NE||", "|||AL|AL||");
    const message = toMessage({ ordinal: 1, line: 1, raw: Buffer.from(text, "latin1") }, {});
    const peer = { address: "10.0.0.9" };
    const [received] = await intake.accept({ connector: "hl7", peer }, [message]);
    expect(received?.reply?.toString()).toContain("MSA|CA|MSG-A-1");
    const profile = await profileSending({ send: ["refused"] });
    const composition = await composeMessages(await listOpenOutcomes(pool, "hl7", 10), profile);
    const [made] = composition.deliveries;
    expect(made?.bytes.toString()).toMatch(/^MSH\|.*\rMSA\|AE\|MSG-A-1\|.*\rERR\|.*HL7_CHARSET_BYTES/s);
    expect(made?.bytes.toString()).not.toContain("PID|");
    await recordComposition(pool, "hl7", composition);
    expect(await listOpenTasks(pool, 10)).toEqual([]);
  }));

test("what was seen to stays seen to, and the audit says by whom", () =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open();
    await intake.take(wrong("A-1", "NE|NE"));
    expect(await closeTask(pool, 1, { actor: "kim", reason: "told by phone" })).toBe(true);
    expect(await listOpenTasks(pool, 10)).toEqual([]);
    const audit = await pool.query("select actor, action, target, detail from audit");
    expect(audit.rows).toEqual([
      {
        actor: "kim",
        action: "task-done",
        target: "k1",
        detail: { messageId: 1, reason: "told by phone" },
      },
    ]);
  }));
