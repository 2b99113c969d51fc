import { describe, expect, test } from "vitest";
import type { OrderState } from "../../../src/core/order-state.ts";
import { csvProfile, hl7Profile, hl7Text } from "../mapped.ts";
import { changed, composeHl7, segmentsOf, withoutText } from "../outcomes.ts";

/** The segments of a name. */
function named(segments: readonly string[] | undefined, name: string): string[] {
  return (segments ?? []).filter((segment) => segment.startsWith(name));
}

describe("a stored order", () => {
  test("has its status in the lab's words, where the profile has some, in each format", async () => {
    const words = { status: { completed: "Terminé" } };
    for (const format of ["oru", "ssu"] as const) {
      const profile = await hl7Profile({ results: { words, format, send: ["completed", "failed"] } });
      expect(named(segmentsOf(changed(), profile), "OBX|1|")[0]).toContain(
        "|TX|CRYO-STATUS^Order status^L||Terminé|",
      );
      const failed = segmentsOf(changed({ state: "failed" }), profile);
      expect(named(failed, "OBX|1|")[0]).toContain("|TX|CRYO-STATUS^Order status^L||Failed|");
    }
  });

  test("goes back as ORU^R01 with a group of OBX for its container", async () => {
    expect(segmentsOf(changed(), await hl7Profile())).toEqual([
      "MSH|^~\\&|CRYO|STORE|LIMS|NORTH|20261120130607+0000||ORU^R01^ORU_R01|CB0000000005|P|2.5.1||||||UNICODE UTF-8",
      "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F",
      "ORC|RE|LAB-1^NORTHLAB|R123^CRYOBRIDGE|GRP-7|CM||||20261120130607+0000",
      "OBR|1|LAB-1^NORTHLAB|R123^CRYOBRIDGE|CRYO-STORE^Cryogenic storage^L|||20261120130607+0000|||||||||||||||20261120130607+0000|||F",
      "OBX|1|TX|CRYO-STATUS^Order status^L||Stored: 1 container||||||F|||20261120130607+0000",
      "OBX|2|ST|CRYO-PROCEDURE^Procedure^L||ST-2026-77||||||F|||20261120130607+0000",
      "OBX|3|ST|CRYO-CONTAINER^Container label^L|1|STRAW-1||||||F|||20261120130500+0000",
      "OBX|4|NM|CRYO-CONTAINER-ID^Container id at the storage service^L|1|9001||||||F|||20261120130500+0000",
      "OBX|5|ST|CRYO-STORAGE^Storage^L|1|Tank A||||||F|||20261120130500+0000",
      "OBX|6|ST|CRYO-CANISTER^Canister^L|1|3||||||F|||20261120130500+0000",
      "OBX|7|ST|CRYO-CANE^Cane^L|1|7||||||F|||20261120130500+0000",
      "OBX|8|ST|CRYO-POSITION^Position^L|1|slot 2||||||F|||20261120130500+0000",
      "OBX|9|TS|CRYO-STORED-AT^Stored at^L|1|20261120130500+0000||||||F|||20261120130500+0000",
      "OBX|10|TX|CRYO-TEXT^Container in words^L|1|STRAW-1: Tank A, canister 3, cane 7, slot 2, since 2026-11-20 13:05 UTC||||||F|||20261120130500+0000",
    ]);
  });

  test("goes back as ORM^O01 with ORC-1 SC where the profile says so", async () => {
    const segments = segmentsOf(changed(), await hl7Profile({ results: { format: "orm" } }));
    expect(segments?.[0]).toContain("|ORM^O01^ORM_O01|");
    expect(named(segments, "ORC")).toEqual([
      "ORC|SC|LAB-1^NORTHLAB|R123^CRYOBRIDGE|GRP-7|CM||||20261120130607+0000",
    ]);
  });

  test("goes back as OML^O21 in 2.7, which has no ORM", async () => {
    const text = hl7Text("OML^O21", ["PID|1||A", "ORC|NW|LAB-1", "OBR|1|LAB-1||CRYO-STORE"], "2.7");
    const segments = segmentsOf(changed({}, text), await hl7Profile({ results: { format: "orm" } }));
    expect(segments?.[0]).toContain("|OML^O21^OML_O21|");
  });

  test("has its times in the zone of the profile, with that day's offset", async () => {
    const segments = segmentsOf(changed(), await hl7Profile({ results: { timeZone: "Europe/Vienna" } }));
    expect(segments?.[0]).toContain("|20261120140607+0100|");
    expect(segments?.at(-1)).toContain("since 2026-11-20 14:05 +0100");
  });

  test("names no message structure in version 2.3, which has none", async () => {
    const text = hl7Text("ORM^O01", ["PID|1||A", "ORC|NW|LAB-1", "OBR|1"], "2.3");
    expect(segmentsOf(changed({}, text), await hl7Profile())?.[0]).toContain("|ORU^R01|");
  });

  test("is sent without the original too, once that is pruned", async () => {
    const segments = segmentsOf(withoutText(changed()), await hl7Profile());
    expect(segments?.slice(0, 4)).toEqual([
      "MSH|^~\\&|||||20261120130607+0000||ORU^R01^ORU_R01|CB0000000005|P|2.5||||||UNICODE UTF-8",
      "PID|1||MRN-4711",
      "ORC|RE|LAB-1|R123^CRYOBRIDGE||CM||||20261120130607+0000",
      "OBR|1|LAB-1|R123^CRYOBRIDGE|STORE^Cryogenic storage^L|||20261120130607+0000|||||||||||||||20261120130607+0000|||F",
    ]);
  });

  test("echoes the OBR of its own order, not of the message's first", async () => {
    const text = hl7Text("ORM^O01", [
      "PID|1||A",
      ...["LAB-0", "LAB-1"].flatMap((number) => [
        `ORC|NW|${number}`,
        `OBR|1|${number}||CRYO-STORE^for ${number}`,
      ]),
    ]);
    expect(named(segmentsOf(changed({}, text), await hl7Profile()), "OBR")[0]).toContain(
      "|CRYO-STORE^for LAB-1|",
    );
  });

  test("echoes ORC-2 and OBR-2 each in its place, where the profile reads a site's numbers from OBR-2", async () => {
    const group = (n: number) => [
      "ORC|NW|GROUP-1^NORTHLAB",
      `OBR|1|X-${n}^NORTHLAB||CRYO-STORE|||||||||||SEM^^STRAW-${n}`,
    ];
    const text = hl7Text("ORM^O01^ORM_O01", ["PID|1||MRN-4711^^^NORTH^MR", ...group(1), ...group(2)]);
    const profile = await hl7Profile({ placerOrderNumber: "OBR-2.1" });
    const segments = segmentsOf(changed({ placerOrderNumber: "X-2" }, text), profile);
    expect(named(segments, "ORC")[0]?.split("|")[2]).toBe("GROUP-1^NORTHLAB");
    expect(named(segments, "OBR")[0]?.split("|")[2]).toBe("X-2^NORTHLAB");
  });

  test("echoes the sender's escapes and delimiters as they were", async () => {
    const text = [
      "MSH@*!%?@OTHER@NORTH@CRYO@STORE@20261120@@ORM*O01@C1@P@2.4",
      "PID@1@@M-1@@Pipe%F%Bar*A%S%B%.br%C",
      "ORC@NW@LAB-1*OTHER",
      "OBR@1@LAB-1*OTHER@@CRYO-STORE",
    ].join("\r");
    const segments = segmentsOf(changed({}, text), await hl7Profile());
    expect(segments?.[0]).toMatch(/^MSH@\*!%\?@CRYO@STORE@OTHER@NORTH@/);
    expect(named(segments, "PID")).toEqual(["PID@1@@M-1@@Pipe%F%Bar*A%S%B%.br%C"]);
    expect(named(segments, "ORC")[0]).toMatch(/^ORC@RE@LAB-1\*OTHER@R123\*CRYOBRIDGE@/);
  });

  test("is written with the usual delimiters where the original declares too few, and means the same", async () => {
    const text = [
      "MSH|^~|A|B|C|D|20261120||ORM^O01|C1|P|2.4",
      "PID|1||M-1||Bell & Sons^\\Ann\\",
      "ORC|NW|LAB-1",
    ].join("\r");
    const segments = segmentsOf(changed({}, text), await hl7Profile());
    expect(segments?.[0]).toMatch(/^MSH\|\^~\\&\|C\|/);
    expect(named(segments, "PID")).toEqual(["PID|1||M-1||Bell \\T\\ Sons^\\E\\Ann\\E\\"]);
  });

  test("goes to the parties that the profile names", async () => {
    const results = { sender: { application: "BRIDGE" }, receiver: { application: "RES", facility: "LAB" } };
    const [msh] = segmentsOf(changed(), await hl7Profile({ results })) ?? [];
    expect(msh).toMatch(/^MSH\|\^~\\&\|BRIDGE\|STORE\|RES\|LAB\|/);
  });
});

describe("an order that was not done", () => {
  test.each<[OrderState, string, string, string]>([
    ["rejected", "OC", "CA", "X"],
    ["cancelled", "OC", "CA", "X"],
    ["failed", "OD", "DC", "X"],
    ["parked", "OH", "HD", "O"],
    ["discarded", "OC", "CA", "X"],
  ])(
    "and is %s says so by ORC-1 %s, ORC-5 %s, OBR-25 %s and gives the reason",
    async (state, orc1, orc5, obr25) => {
      const reason = { code: "REQUEST_REJECTED", text: "Label | unknown\nat the site" } as const;
      const containers = [{ label: "STRAW-1", description: "" }];
      const segments = segmentsOf(changed({ state, reason, containers }), await hl7Profile());
      const orc = named(segments, "ORC")[0]?.split("|") ?? [];
      expect([orc[1], orc[5], orc[16]]).toEqual([
        orc1,
        orc5,
        "REQUEST_REJECTED^Label \\F\\ unknown\\.br\\at the site^L",
      ]);
      expect(named(segments, "OBR")[0]?.split("|")[25]).toBe(obr25);
      expect(named(segments, "NTE")).toEqual(["NTE|1|L|Label \\F\\ unknown\\.br\\at the site"]);
    },
  );

  test("takes its codes from the profile's status map where that names some", async () => {
    const statusMap = { failed: { "ORC-1": "OC", "ORC-5": "CA" } };
    const segments = segmentsOf(changed({ state: "failed" }), await hl7Profile({ results: { statusMap } }));
    expect(named(segments, "ORC")[0]).toMatch(/^ORC\|OC\|.*\|CA\|/);
    expect(named(segments, "OBR")[0]).toMatch(/\|X$/);
  });
});

describe("a result", () => {
  test("that the profile does not send is nothing to deliver", async () => {
    expect(composeHl7(changed({ state: "in_progress" }), await hl7Profile())).toBeUndefined();
    expect(composeHl7(changed({ state: "completed" }), await csvProfile())).toBeUndefined();
  });

  test("of a state between is sent where the profile asks for it", async () => {
    const profile = await hl7Profile({ results: { send: ["in_progress"] } });
    expect(named(segmentsOf(changed({ state: "in_progress" }), profile), "ORC")[0]).toMatch(
      /^ORC\|SC\|.*\|IP\|/,
    );
  });

  test("of a retrieval says that the container was taken out", async () => {
    const containers = [{ label: "STRAW-1", description: "", containerId: 9 }];
    const segments = segmentsOf(changed({ operation: "RETRIEVAL", containers }), await hl7Profile());
    expect(named(segments, "OBX").map((segment) => segment.split("|")[5])).toEqual([
      "Retrieved: 1 container",
      "ST-2026-77",
      "STRAW-1",
      "9",
      "STRAW-1: taken out of storage",
    ]);
  });

  test("of a registration has no order numbers", async () => {
    const order = {
      operation: "REGISTER",
      placerOrderNumber: undefined,
      requestId: undefined,
      procedureId: undefined,
      procedureCode: undefined,
      containers: [],
    } as const;
    const text = hl7Text("ADT^A04", ["PID|1||A"]);
    const segments = segmentsOf(changed(order, text), await hl7Profile({ results: { format: "orm" } }));
    expect(segments?.map((segment) => segment.slice(0, 12))).toEqual([
      "MSH|^~\\&|CRY",
      "PID|1||A",
      "ORC|RE||||CM",
      "OBR|1|||REGI",
      "OBX|1|TX|CRY",
    ]);
  });

  test("names the procedure as filler where there is no request", async () => {
    const segments = segmentsOf(changed({ requestId: undefined }), await hl7Profile());
    expect(named(segments, "ORC")[0]).toContain("|P77^CRYOBRIDGE|");
  });

  test("is byte-identical each time it is composed", async () => {
    const [one, other] = [await hl7Profile(), await hl7Profile()].map((profile) =>
      composeHl7(changed(), profile),
    );
    expect(one).toEqual(other);
  });

  test("is a file named by order number and control id, whatever the number holds", async () => {
    const profile = await hl7Profile();
    const names = ["LAB-1", "../../etc/passwd", "A B:C", ".hidden", ""].map(
      (placerOrderNumber) => composeHl7(changed({ placerOrderNumber }), profile)?.fileName,
    );
    expect(names).toEqual([
      "LAB-1_CB0000000005.hl7",
      "__.._etc_passwd_CB0000000005.hl7",
      "A_B_C_CB0000000005.hl7",
      "_hidden_CB0000000005.hl7",
      "__CB0000000005.hl7",
    ]);
  });
});
