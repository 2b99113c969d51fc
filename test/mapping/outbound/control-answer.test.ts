import { describe, expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { csvResultRows } from "../../../src/mapping/outbound/result-csv.ts";
import { at } from "../../support/places.ts";
import { csvProfile, hl7Profile, hl7Text } from "../mapped.ts";
import {
  acknowledged,
  CANCEL,
  changed,
  controlled,
  GRANTED,
  outcomeOrder,
  REFUSED,
  refused,
  segmentsOf,
  UNKNOWN,
  withoutText,
} from "../outcomes.ts";

const PID = "PID|1||MRN-4711^^^NORTH^MR||Beispiel^Anna||19840229|F";
const fieldsOf = (segments: readonly string[] | undefined, name: string) =>
  segments?.filter((segment) => segment.startsWith(`${name}|`)).map((segment) => segment.split("|"));

describe("a request that was granted", () => {
  test("is answered by ORR^O02 with CR and the order's own groups", async () => {
    const segments = segmentsOf(controlled([GRANTED]), await hl7Profile());
    expect(segments?.map((segment) => segment.slice(0, 3))).toEqual(["MSH", "MSA", "PID", "ORC", "OBR"]);
    expect(segments?.[0]).toContain("|ORR^O02^ORR_O02|CB0000000005|");
    expect(segments?.[1]).toMatch(/^MSA\|AA\|MSG-1/);
    expect(fieldsOf(segments, "ORC")).toMatchObject([
      { 1: "CR", 2: "LAB-1^NORTHLAB", 3: "R123^CRYOBRIDGE", 4: "GRP-7", 5: "CA" },
    ]);
    expect(segments?.[4]).toBe("OBR|1|LAB-1^NORTHLAB||X");
  });

  test.each([
    ["OML^O21^OML_O21", "ORL^O22^ORL_O22"],
    ["OML^O33^OML_O33", "ORL^O34^ORL_O34"],
  ])("of %s is answered by %s", async (type, expected) => {
    const text = hl7Text(type, [PID, "ORC|CA|LAB-1"]);
    expect(segmentsOf(controlled([GRANTED], text), await hl7Profile())?.[0]).toContain(`|${expected}|`);
  });

  test("is sent even where the profile sends nothing else", async () => {
    const profile = await hl7Profile({ results: { send: [] } });
    expect(segmentsOf(controlled([GRANTED]), profile)).toHaveLength(5);
  });

  test("is sent with its number alone once the message is pruned, and names the order that we numbered", async () => {
    const segments = segmentsOf(withoutText(controlled([GRANTED])), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "CR", 2: "LAB-1", 3: "R123^CRYOBRIDGE" }]);
  });

  test("that named our number alone gets it back", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA||P77^CRYOBRIDGE"]);
    const fillerNumber = { kind: "procedure", id: 77 } as const;
    const segments = segmentsOf(controlled([{ control: "cancel", fillerNumber }], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "CR", 2: "", 3: "P77^CRYOBRIDGE" }]);
  });
});

describe("a request that was refused", () => {
  test("is answered by UC with how the order stands and the reason, for machines and for people", async () => {
    const segments = segmentsOf(controlled([REFUSED]), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "UC", 5: "CM" }]);
    expect(fieldsOf(segments, "ORC")?.[0]?.[16]).toBe(
      "CANCEL_TOO_LATE^the order was completed before it could be cancelled^L",
    );
    expect(fieldsOf(segments, "NTE")).toMatchObject([
      { 3: expect.stringContaining("order LAB-1: the order was") },
    ]);
    expect(segments?.[1]).toMatch(/^MSA\|AA\|MSG-1/);
  });

  test("for want of the order says so in ORC-5 too (table 0038)", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA|LAB-9"]);
    const segments = segmentsOf(controlled([UNKNOWN], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "UC", 2: "LAB-9", 5: "ER" }]);
    expect(fieldsOf(segments, "ERR")).toMatchObject([
      { 2: "ORC^1", 3: "204^Unknown key identifier^HL70357", 4: "W", 5: "CANCEL_ORDER_UNKNOWN" },
    ]);
  });

  test("stands beside one that was granted, each with its own ORC", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|CA|LAB-1", "ORC|NW|LAB-2", "OBR|1|LAB-2", "ORC|CA|LAB-9"]);
    const segments = segmentsOf(controlled([GRANTED, UNKNOWN], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")?.map(([, control, number]) => [control, number])).toEqual([
      ["CR", "LAB-1"],
      ["UC", "LAB-9"],
    ]);
  });
});

describe("the answer to another request", () => {
  test.each([
    ["discontinue", "DC", "DR", "UD"],
    ["hold", "HD", "HR", "UH"],
    ["release", "RL", "OR", "UR"],
    ["change", "XO", "XR", "UX"],
    ["replace", "RP", "RQ", "UM"],
    ["status", "SS", "SR", "SR"],
  ] as const)("to %s (%s) is %s, or %s", async (control, code, granted, refusedBy) => {
    const text = hl7Text("ORM^O01", [PID, `ORC|${code}|LAB-1`, `ORC|${code}|LAB-9`]);
    const answers = [
      { control, placerOrderNumber: "LAB-1", order: outcomeOrder({ state: "received" }) },
      { ...UNKNOWN, control, refusal: { code: "CONTROL_ORDER_UNKNOWN", text: "there is no such order" } },
    ] as const;
    const segments = segmentsOf(controlled(answers, text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")?.map((fields) => [fields[1], fields[2], fields[5]])).toEqual([
      [granted, "LAB-1", control === "discontinue" ? "DC" : "SC"],
      [refusedBy, "LAB-9", "ER"],
    ]);
  });

  test.each([
    [{ state: "received", isHeld: true }, "HD"],
    [{ state: "submitted" }, "SC"],
    [{ state: "in_progress" }, "IP"],
    [{ state: "completed" }, "CM"],
    [{ state: "cancelled" }, "CA"],
    [{ state: "failed" }, "DC"],
    [{ state: "parked" }, "HD"],
  ] as const)("says how an order stands: %j is %s", async (order, status) => {
    const text = hl7Text("ORM^O01", [PID, "ORC|SS|LAB-1"]);
    const answer = { control: "status", placerOrderNumber: "LAB-1", order: outcomeOrder(order) } as const;
    const segments = segmentsOf(controlled([answer], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "SR", 5: status }]);
  });

  test("follows the profile's status map", async () => {
    const profile = await hl7Profile({ results: { statusMap: { submitted: { "ORC-5": "A" } } } });
    const text = hl7Text("ORM^O01", [PID, "ORC|SS|LAB-1"]);
    const answer = {
      control: "status",
      placerOrderNumber: "LAB-1",
      order: outcomeOrder({ state: "submitted" }),
    } as const;
    expect(fieldsOf(segmentsOf(controlled([answer], text), profile), "ORC")).toMatchObject([{ 5: "A" }]);
  });

  test.each([
    ["DC", "UD"],
    ["HD", "UH"],
    ["RL", "UR"],
    ["XO", "UX"],
    ["RP", "UM"],
    ["SS", "UA"],
  ])("refuses %s by %s when the message is refused as a whole", async (code, refusedBy) => {
    const text = hl7Text("ORM^O01", [PID, `ORC|${code}|LAB-1`]);
    const problems = [
      { code: "MAPPING_VALUE_MISSING", place: at("message 1, X"), message: "is empty" },
    ] as const;
    const segments = segmentsOf(refused([...problems], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: refusedBy }]);
  });
});

describe("the answer to the message itself", () => {
  test("says that the request is recorded and its answer follows, and grants nothing", async () => {
    const segments = segmentsOf(acknowledged([], CANCEL), await hl7Profile());
    expect(segments?.map((segment) => segment.slice(0, 3))).toEqual(["MSH", "MSA", "NTE"]);
    expect(segments?.[2]).toContain("the answer follows");
  });

  test("echoes only what is ordered when it also cancels", async () => {
    const text = hl7Text("ORM^O01", [PID, "ORC|NW|LAB-2", "OBR|1|LAB-2||X", "ORC|CA|LAB-1"]);
    const segments = segmentsOf(acknowledged([outcomeOrder()], text), await hl7Profile());
    expect(fieldsOf(segments, "ORC")?.map(([, control, number]) => [control, number])).toEqual([
      ["OK", "LAB-2"],
    ]);
  });

  test("says UC of what it would have cancelled when the message is refused", async () => {
    const problems = [
      { code: "MAPPING_VALUE_MISSING", place: at("message 1, ORC-2"), message: "is empty" },
    ] as const;
    const segments = segmentsOf(refused([...problems], CANCEL), await hl7Profile());
    expect(fieldsOf(segments, "ORC")).toMatchObject([{ 1: "UC" }]);
  });
});

describe("the row that answers a CSV row", () => {
  test.each([
    ["hold", "HOLD", "held", "hold_refused"],
    ["release", "RELEASE", "released", "release_refused"],
  ] as const)("to %s says so, or why not", async (control, operation, granted, refused) => {
    const rows = csvResultRows(
      controlled([
        { ...GRANTED, control },
        { ...REFUSED, control },
      ]),
      await csvProfile(),
    );
    expect(rows).toMatchObject([
      { operation, status: granted, error: "" },
      { operation, status: refused, error: REFUSED.refusal?.text },
    ]);
  });

  test("that asks how an order stands gets its state, container by container", async () => {
    const order = outcomeOrder();
    const [container] = order.containers;
    if (!container) throw new Error("the order has no container");
    const two = { ...order, containers: [container, { label: "STRAW-2", description: "" }] };
    const asked = [
      { control: "status", placerOrderNumber: "LAB-1", order: two },
      {
        control: "status",
        placerOrderNumber: "LAB-1",
        order: outcomeOrder({ state: "received", isHeld: true }),
      },
      { ...UNKNOWN, control: "status" },
    ] as const;
    expect(csvResultRows(controlled(asked), await csvProfile())).toMatchObject([
      { operation: "STATUS", status: "completed", container_label: "STRAW-1", canister: "3", cane: "7" },
      { operation: "STATUS", status: "completed", container_label: "STRAW-2", canister: "" },
      { operation: "STATUS", status: "held" },
      {
        order_number: "LAB-9",
        operation: "STATUS",
        status: "status_refused",
        error: "there is no such order",
      },
    ]);
  });

  test("says that it is granted, or refused and why", async () => {
    const rows = csvResultRows(
      controlled([GRANTED, REFUSED, UNKNOWN]),
      await csvProfile({ results: { send: [] } }),
    );
    expect(rows).toMatchObject([
      {
        order_number: "LAB-1",
        operation: "CANCEL",
        subject_code: "MRN-4711",
        status: "cancelled",
        error: "",
      },
      {
        order_number: "LAB-1",
        status: "cancel_refused",
        request_id: "123",
        error: "the order was completed before it could be cancelled",
      },
      { order_number: "LAB-9", subject_code: "", status: "cancel_refused", error: "there is no such order" },
    ]);
  });
});

test("the same answer gives the same bytes", async () => {
  const profile = await hl7Profile();
  const outcome = controlled([REFUSED]);
  const again = { ...outcome, message: { ...outcome.message, text: phi(CANCEL) } };
  expect(segmentsOf(again, profile)).toEqual(segmentsOf(outcome, profile));
});

test("is asked to be acknowledged as the connector says, and an acknowledgement is not", async () => {
  const base = await hl7Profile({ results: { controlAnswers: "response" } });
  const wants = { accept: "AL", application: "NE" } as const;
  const profile = { ...base, results: { ...base.results, wants } };
  const asksOf = (segments: readonly string[] | undefined) => segments?.[0]?.split("|").slice(14, 16);
  expect(asksOf(segmentsOf(changed(), profile))).toEqual(["AL", "NE"]);
  expect(asksOf(segmentsOf(changed(), base))).toEqual(["", ""]);
  expect(asksOf(segmentsOf(controlled([GRANTED]), profile))).toEqual(
    asksOf(segmentsOf(controlled([GRANTED]), base)),
  );
});
