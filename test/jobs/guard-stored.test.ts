import { expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { guardStored } from "../../src/jobs/submit/guard.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { Matches } from "../../src/ledger/orders/same-containers.ts";
import { never, withStub } from "../service/with-client.ts";
import { SUBMIT_SETTINGS } from "../support/submit.ts";

const ORDER = {
  operation: "STORE",
  facilityId: 12,
  subject: { code: phi("S-1") },
  containers: [{ position: 1, label: "V-1", description: "" }],
} as unknown as LedgerOrder;
const NO_MATCHES = { overrides: new Set(), sameContainers: [] } as unknown as Matches;

test("a label that is listed already waits for a person where the service has no locations, and nothing else tells whether it is in storage", () =>
  withStub(
    async (stub, service) => {
      stub.rows["sample-containers"] = [{ id: 106, name: "V-1", subjectCode: "S-1" }];
      const deps = { service, settings: SUBMIT_SETTINGS } as unknown as SubmitDeps;
      await expect(guardStored(ORDER, undefined, NO_MATCHES, deps, never)).rejects.toMatchObject({
        code: "ORDER_CONTAINER_STORED_ALREADY",
        message: expect.stringContaining("doesn't show whether it is in storage"),
      });
    },
    { paths: { locations: "none" } },
  ));
