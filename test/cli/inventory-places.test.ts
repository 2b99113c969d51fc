import { expect, test } from "vitest";
import { readPlaces } from "../../src/cli/commands/inventory/service-list.ts";
import { Inventory } from "../../src/operator/inventory.ts";
import { send } from "../service/stub-service.ts";
import { withStub } from "../service/with-client.ts";

const CONTAINERS = 60;

test("no place is asked for any more once one could not be read", () =>
  withStub(async (stub, service) => {
    stub.intercept = (request, response) => {
      const isRefused = request.url?.includes("/5/") === true;
      if (isRefused) send(response, 400, { code: "BAD_REQUEST", message: "not that one" });
      return isRefused;
    };
    const ids = Array.from({ length: CONTAINERS }, (_, n) => n + 1);
    stub.rows["sample-containers"] = ids.map((id) => ({ id }));
    const inventory = new Inventory();
    inventory.addLines(ids.map((n) => ({ line: n, label: `V-${n}`, storage: "tank", position: "" })));
    const common = { subjectId: 1, subjectCode: undefined, isStored: true };
    inventory.addContainers(ids.map((id) => ({ id, labels: [`V-${id}`], ...common })));
    const reading = { service, inventory, report: () => {} } as unknown as Parameters<typeof readPlaces>[0];
    await expect(readPlaces(reading)).rejects.toMatchObject({ code: expect.stringContaining("SERVICE_") });
    // What still asked would take its turns between these.
    for (let more = 0; more < CONTAINERS; more += 1)
      await service.getLocation(5, new AbortController().signal).catch(() => undefined);
    expect(stub.seen.length).toBeLessThan(2 * CONTAINERS - 1);
  }));
