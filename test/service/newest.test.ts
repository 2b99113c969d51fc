import { expect, test } from "vitest";
import { procedure, withExternal } from "./external-stub.ts";
import { send } from "./stub-service.ts";
import { never } from "./with-client.ts";

const SINCE = new Date("2026-11-21T09:00:00Z");
const MARK = "7K3M-ZQ0VX9TB4D";
const marked = procedure(7, {
  sampleContainers: [{ id: 70, name: "V-7", description: `vial [ref ${MARK}]` }],
});

test.each([404, 403, 500])(
  "a procedure whose details are answered with %i is done without, and the marks of the others are read",
  (status) =>
    withExternal({ procedures: [marked, procedure(9)] }, async (stub, client) => {
      const lead = stub.intercept;
      stub.intercept = (request, response, body) => {
        if (!/procedures\/9$/.test(request.url ?? "")) return lead(request, response, body);
        send(response, status, { code: "NO", message: "not this one" });
        return true;
      };
      const newest = await client.listNewest({ surface: "external", facilityId: 12, since: SINCE }, never);
      expect(newest.flatMap(({ marks }) => marks)).toContain(MARK);
      expect(newest.map(({ id }) => id)).toContain(9);
    }),
);
