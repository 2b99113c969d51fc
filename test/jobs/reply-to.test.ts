import { expect, test } from "vitest";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { hl7Profile } from "../mapping/mapped.ts";
import { adt, omlO33 } from "../support/lab-messages.ts";
import { type TestIntake, withIntakes } from "../support/with-intakes.ts";

/** The segments of what is answered to one message. */
async function answer(intake: TestIntake, text: string): Promise<string[]> {
  const [received] = await intake.take(text);
  return received?.reply?.toString("utf8").split("\r").slice(0, -1) ?? [];
}

/** A header of an answer without MSH-7 and MSH-10. */
function withoutOwn(msh = ""): string[] {
  return msh.split("|").filter((_, index) => index !== 6 && index !== 9);
}

const wantingBoth = (number: string) => omlO33({ number }).replace("|||AL|NE||", "|||AL|AL||");

test("the messages of a sender are answered alike from the first on, each for itself", () =>
  withIntakes(async ({ open }) => {
    const intake = await open();
    const [first = [], ...others] = [
      await answer(intake, wantingBoth("A-1")),
      await answer(intake, wantingBoth("A-2")),
      await answer(intake, wantingBoth("A-3")),
    ];
    expect(first).toHaveLength(4);
    for (const [index, found] of others.entries()) {
      const number = `MSG-A-${index + 2}`;
      expect([found[1], found[3]]).toEqual([`MSA|CA|${number}`, `MSA|AA|${number}`]);
      expect([withoutOwn(found[0]), withoutOwn(found[2])]).toEqual([
        withoutOwn(first[0]),
        withoutOwn(first[2]),
      ]);
    }
    const ids = [first, ...others].flatMap((lines) => [lines[0], lines[2]].map((msh) => msh?.split("|")[9]));
    expect(ids.map((id) => id?.slice(0, 2))).toEqual(["CA", "CL", "CA", "CL", "CA", "CL"]);
    expect(new Set(ids).size).toBe(6);
  }));

test("a message that is refused is answered so, though those before it with its header were taken", () =>
  withIntakes(async ({ open }) => {
    const intake = await open();
    for (const number of ["A-1", "A-2", "A-3"]) await intake.take(omlO33({ number }));
    const [, msa] = await answer(intake, omlO33({ number: "A-4", birth: "1985" }));
    expect(msa).toMatch(/^MSA\|CE\|MSG-A-4\|.*PID-7/);
  }));

test("a message that comes again gets the bytes that it got before", () =>
  withIntakes(async ({ open }) => {
    const intake = await open();
    const texts = ["A-1", "A-2", "A-3"].map((number) => omlO33({ number }));
    const firsts = [];
    for (const text of texts) firsts.push(await answer(intake, text));
    expect(await answer(intake, texts[2] ?? "")).toEqual(firsts[2]);
  }));

test("only what is refused is told again with the results, where MSH-16 asks for errors alone", () =>
  withIntakes(async ({ pool, open }) => {
    const intake = await open({ applicationAck: "results" });
    const wantingErrors = (number: string, birth = "19900131") =>
      omlO33({ number, birth }).replace("|||AL|NE||", "|||AL|ER||");
    for (const number of ["A-1", "A-2", "A-3"]) await intake.take(wantingErrors(number));
    await intake.take(wantingErrors("A-4", "1985"));
    const { rows } = await pool.query<{ kind: string }>("select kind from outcomes");
    expect(rows).toEqual([{ kind: "refused" }]);
  }));

test.each([
  ["AL", "AL"],
  ["NE", "AL"],
])(
  "a message of a type that is left alone gets its application acknowledgement, too (MSH-15 %s, MSH-16 %s)",
  (...wants) =>
    withIntakes(async ({ pool, open }) => {
      const site = { extends: "builtin/hl7-orders", ignore: ["ADT^A11"] };
      const config = { profiles: { site } };
      const intake = await open({ applicationAck: "results", profile: "site" }, undefined, config);
      const text = adt("A28", { code: "S-1" })
        .replaceAll("A28", "A11")
        .replace("|P|2.5.1||||||", `|P|2.5.1|||${wants.join("|")}||`);
      const [received] = await intake.take(text);
      expect(received?.verdict).toBe("ignored");
      const told = await composeMessages(await listOpenOutcomes(pool, "hl7", 10), await hl7Profile());
      expect(told.deliveries.map(({ bytes }) => bytes.toString().split("\r")[1])).toEqual(["MSA|AA|A11-S-1"]);
    }),
);

test("a message of a type that is left alone is told nothing beyond what it was answered", () =>
  withIntakes(async ({ pool, open }) => {
    const config = { profiles: { site: { extends: "builtin/hl7-orders", ignore: ["ADT^A11"] } } };
    const intake = await open({ applicationAck: "results", profile: "site" }, undefined, config);
    const [received] = await intake.take(adt("A28", { code: "S-1" }).replaceAll("A28", "A11"));
    expect(received?.reply?.toString()).toContain("\rMSA|AA|A11-S-1\r");
    expect(await listOpenOutcomes(pool, "hl7", 10)).toEqual([]);
  }));
