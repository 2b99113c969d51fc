import type { ServiceClient } from "../../src/service/client.ts";
import type { ServiceSettings } from "../../src/service/settings.ts";
import type { Row, StubService } from "./stub-service.ts";
import { withStub } from "./with-client.ts";

/** A procedure as the external surface has it; what a test doesn't care about is filled in. */
export function procedure(id: number, given: Row = {}): Row {
  return {
    id,
    code: `PR-${id}`,
    type: "STORE",
    status: "PENDING",
    facilityId: 12,
    subjectCode: "S-4",
    createdAt: "2026-11-21T10:00:01Z",
    sampleContainers: [{ id: id * 10, name: `V-${id}`, description: "vial" }],
    ...given,
  };
}

/** How the specification writes a procedure: facility and subject as objects. */
function full({ facilityId, subjectCode, ...row }: Row): Row {
  return {
    ...row,
    facility: { id: facilityId, name: "North" },
    ...(subjectCode === undefined ? {} : { subject: { id: 1, code: subjectCode } }),
  };
}

/** Entries of the list omit the containers. */
function summary({ sampleContainers: _left, ...row }: Row): Row {
  return full(row);
}

/** A service with an external surface and a client of it; `stub.rows` has its rows under `external-…`. */
export function withExternal(
  rows: { readonly procedures?: Row[]; readonly containers?: Row[] },
  test: (stub: StubService, client: ServiceClient) => Promise<void>,
  settings: Partial<ServiceSettings> = {},
): Promise<void> {
  return withStub(async (stub, client) => {
    stub.rows["external-procedures"] = rows.procedures ?? [];
    stub.rows["external-sample-containers"] = rows.containers ?? [];
    stub.intercept = onExternal(stub);
    await test(stub, client);
  }, settings);
}

/** Leads the external surface's paths to the stub's rows. */
export function onExternal(stub: StubService): StubService["intercept"] {
  return (request) => {
    const isProcedure = request.url?.includes("/external/procedures") === true;
    stub.options = {
      ...stub.options,
      entry: isProcedure ? summary : (row) => row,
      single: isProcedure ? full : (row) => row,
    };
    request.url = request.url?.replace("/api/v1/external/", "/api/external-") ?? "";
    return false;
  };
}
