import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isTerminal, mayMove, type OrderState, TRACKED_STATES } from "../../src/core/order-state.ts";
import { phi } from "../../src/core/phi.ts";
import { SURFACES } from "../../src/core/surface.ts";
import { readTracked } from "../../src/jobs/track/news.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";

function order(parts: Partial<LedgerOrder> = {}): LedgerOrder {
  return {
    id: 1,
    messageId: 1,
    connector: "lims",
    operation: "STORE",
    facilityCode: "NORTH",
    facilityId: 12,
    placerOrderNumber: "A-1",
    sharesNumber: false,
    isPruned: false,
    placerAuthority: undefined,
    subject: { code: phi("S-1") },
    containers: [],
    sources: {},
    state: "submitted",
    failure: undefined,
    mark: "7K3M-ZQ0VX9TB4D",
    attempts: 0,
    nextAt: new Date(0),
    fence: undefined,
    calls: [],
    surface: "request",
    subjectId: undefined,
    requestId: 5,
    procedureId: undefined,
    procedureCode: undefined,
    remoteStatus: "PENDING",
    missingSince: undefined,
    locatingSince: undefined,
    heldAt: undefined,
    priorSubjectCode: undefined,
    receivedAt: new Date(0),
    submittedAt: new Date(0),
    changedAt: new Date(0),
    ...parts,
  };
}

describe("reading the service's word about an order", () => {
  test("follows a request to its acceptance and to its procedure", () => {
    expect(readTracked(order(), { status: "ACCEPTED", procedureId: 9 }, undefined)).toMatchObject({
      to: "accepted",
      procedureId: 9,
    });
  });

  test("compares no containers of a retrieval that a person linked before their ids were known", () => {
    const label = { position: 1, label: "V-1", description: "" };
    const linked = order({ operation: "RETRIEVAL", containers: [label] });
    const procedure = { status: "COMPLETED", containerIds: [77] };
    expect(readTracked(linked, { status: "ACCEPTED", procedureId: 9 }, procedure)?.to).toBe("completed");
  });

  test("takes a procedure's status over its request's", () => {
    const tracked = readTracked(order(), { status: "ACCEPTED", procedureId: 9 }, { status: "COMPLETED" });
    expect(tracked?.to).toBe("completed");
  });

  test("stays open while an accepted request has no procedure yet", () => {
    expect(readTracked(order(), { status: "ACCEPTED" }, undefined)).toMatchObject({
      to: "accepted",
      procedureId: undefined,
    });
  });

  test("moves nothing when the status is the same", () => {
    expect(readTracked(order(), { status: "PENDING" }, undefined)?.to).toBeUndefined();
  });

  test("reads lower-case and spaced spellings of a status", () => {
    expect(readTracked(order({ state: "accepted" }), undefined, { status: "in progress" })?.to).toBe(
      "in_progress",
    );
  });

  test("keeps a status that nobody knows, notes it once and goes on following", () => {
    const first = readTracked(order(), { status: "ON_HOLD" }, undefined);
    expect(first).toMatchObject({ remoteStatus: "ON_HOLD", notice: { kind: "unknown_status" } });
    expect(first?.to).toBeUndefined();
    expect(
      readTracked(order({ remoteStatus: "ON_HOLD" }), { status: "ON_HOLD" }, undefined)?.notice,
    ).toBeUndefined();
  });

  test("notes a step back and stays where it was", () => {
    const tracked = readTracked(order({ state: "in_progress", remoteStatus: "IN_PROGRESS" }), undefined, {
      status: "PENDING",
    });
    expect(tracked).toMatchObject({ notice: { kind: "went_back" } });
    expect(tracked?.to).toBeUndefined();
  });

  test("keeps the service's words for why a procedure failed apart from what is told", () => {
    const tracked = readTracked(order({ state: "in_progress" }), undefined, {
      status: "FAILED",
      error: phi("S-1: label taken by Jane Roe"),
    });
    expect(tracked).toMatchObject({
      to: "failed",
      reason: { code: "PROCEDURE_FAILED", text: "the procedure failed; the service gives a reason" },
      answer: { method: "GET", route: "/api/procedures/{id}", status: 200 },
    });
    expect(JSON.stringify(tracked)).not.toContain("Jane");
    expect(JSON.parse(tracked?.answer?.body?.reveal() ?? "")).toEqual({
      status: "FAILED",
      error: "S-1: label taken by Jane Roe",
    });
  });

  test.each([
    ["PENDING", undefined],
    ["CREATED", "accepted"],
    ["IN_PROGRESS", "in_progress"],
    ["COMPLETED", "completed"],
    ["CANCELLED", "cancelled"],
    ["FAILED", "failed"],
  ])("reads %s of a procedure that the order itself became as %s", (status, to) => {
    const external = order({ surface: "external", requestId: undefined, procedureId: 5 });
    expect(readTracked(external, undefined, { status })?.to).toBe(to);
  });

  test("takes a procedure's type that nobody knows for no contradiction", () => {
    const external = order({ surface: "external", requestId: undefined, procedureId: 5 });
    expect(readTracked(external, undefined, { status: "CREATED", type: "DEPOSIT" })?.to).toBe("accepted");
    expect(readTracked(external, undefined, { status: "CREATED", type: "REFILL" })?.to).toBe("parked");
  });

  test("stops an order whose procedure says that it came from another request", () => {
    const request = { status: "ACCEPTED", procedureId: 9 };
    const of = (requestId: number | undefined) =>
      readTracked(order({ requestId: 5 }), request, { status: "COMPLETED", requestId });
    expect(of(6)).toMatchObject({ to: "parked", reason: { code: "REQUEST_MISMATCH" } });
    expect([of(5)?.to, of(undefined)?.to]).toEqual(["completed", "completed"]);
  });

  test("stops a retrieval whose procedure is for other containers", () => {
    const retrieval = order({
      operation: "RETRIEVAL",
      containers: [{ position: 1, label: "V-1", description: "", containerId: 7 }],
    });
    const tracked = readTracked(retrieval, undefined, { status: "CREATED", containerIds: [8] });
    expect(tracked).toMatchObject({ to: "parked", reason: { code: "REQUEST_MISMATCH" } });
  });

  test("only ever makes moves that the order states allow, whatever the service says", () => {
    const status = fc.oneof(
      fc.constantFrom(
        "PENDING",
        "ACCEPTED",
        "REJECTED",
        "CANCELLED",
        "CREATED",
        "IN_PROGRESS",
        "COMPLETED",
        "FAILED",
      ),
      fc.string(),
    );
    const request = fc.option(fc.record({ status, procedureId: fc.option(fc.nat(), { nil: undefined }) }), {
      nil: undefined,
    });
    const procedure = fc.option(fc.record({ status }), { nil: undefined });
    fc.assert(
      fc.property(
        fc.constantFrom<OrderState>(...TRACKED_STATES),
        fc.constantFrom(...SURFACES),
        request,
        procedure,
        (state, surface, told, ran) => {
          const to = readTracked(order({ state, surface }), told, ran)?.to;
          expect(to === undefined || mayMove(state, to)).toBe(true);
          expect(isTerminal(state)).toBe(false);
        },
      ),
    );
  });
});
