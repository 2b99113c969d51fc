import { describe, expect, test } from "vitest";
import type { Completed } from "../../src/jobs/track/news.ts";
import { withStub } from "../service/with-client.ts";
import { anOrder, look, row, vial } from "./completed-orders.ts";

describe("looking for the containers of a completed order of the external surface", () => {
  const place = (storageName: string) => ({ storageName });
  const external = (more: Partial<Completed["order"]> = {}) => anOrder({ surface: "external", ...more });
  const known = () => [vial(1, { containerId: 1 }), vial(2, { containerId: 2 })];

  test("takes the places that the procedure shows with the labels", () =>
    withStub(async (stub, client) => {
      const containers = [
        { id: 2, label: "V-2", location: place("Tank B") },
        { id: 1, label: "V-1", location: place("Tank A") },
      ];
      expect(await look(client, external(), { containers, containerIds: [2, 1] })).toMatchObject({
        containers: [
          { position: 1, containerId: 1, location: { storageName: "Tank A" } },
          { position: 2, containerId: 2, location: { storageName: "Tank B" } },
        ],
        next: "report",
      });
      expect(stub.seen).toEqual([]);
    }));

  test("takes the place of an entry without a label by the id that stood with the label before", () =>
    withStub(async (_stub, client) => {
      const containers = [
        { id: 1, location: place("Tank A") },
        { id: 2, location: place("Tank B") },
      ];
      const found = await look(client, external({ containers: known() }), {
        containers,
        containerIds: [1, 2],
      });
      expect(found.containers).toMatchObject([{ location: place("Tank A") }, { location: place("Tank B") }]);
    }));

  test.each([
    ["another label", "V-9"],
    ["the label of another container of the order", "V-2"],
  ])("takes no place from an entry that shows the id with %s, and forgets the id", (_what, label) =>
    withStub(async (stub, client) => {
      stub.rows["sample-containers"] = [row(1)];
      const containers = [{ id: 1, label, location: place("Tank X") }];
      const order = external({ containers: [vial(1, { containerId: 1 })], attempts: 1 });
      expect(await look(client, order, { containers, containerIds: [1] })).toEqual({
        containers: [{ position: 1, isForgotten: true }],
        unlocated: [{ position: 1, text: "the procedure shows its container with another label" }],
        next: "look_again",
      });
      expect(stub.seen).toEqual([]);
    }),
  );

  test("asks the request surface for the container that has the label there, whatever its id is", () =>
    withStub(async (stub, client) => {
      // The request surface numbers them in its own way.
      stub.rows["sample-containers"] = [
        { ...row(1), name: "V-9" },
        { ...row(7), name: "V-1" },
      ];
      const order = external({ containers: [vial(1, { containerId: 1 })], attempts: 1 });
      const found = await look(client, order);
      expect(found.containers).toMatchObject([{ containerId: 1, location: { storageName: "Tank 7" } }]);
      expect(stub.seen.map(({ url }) => url)).not.toContain("/api/sample-containers/1/location");
    }));

  test("asks by its own id where no other surface lists containers, also when no subject is looked up", () =>
    withStub(
      async (stub, client) => {
        stub.rows["sample-containers"] = [row(1)];
        const order = external({ containers: [vial(1, { containerId: 1 })], attempts: 1 });
        const wayOf = () => ({ surface: "external", subjects: "none" }) as const;
        const found = await look(client, order, undefined, wayOf);
        expect(found.containers).toMatchObject([{ containerId: 1, location: { storageName: "Tank 1" } }]);
        expect(stub.seen.map(({ url }) => url)).toEqual(["/api/sample-containers/1/location"]);
      },
      { paths: { containers: "none", locations: "/api/sample-containers/{id}/location" } },
    ));

  test("waits for its procedure to show the place where nothing else does", () =>
    withStub(
      async (stub, client) => {
        const order = external({ containers: [vial(1, { containerId: 1 })], attempts: 1 });
        expect(await look(client, order)).toMatchObject({
          unlocated: [{ text: "the procedure doesn't show its location" }],
          next: "look_again",
        });
        expect(stub.seen).toEqual([]);
      },
      { paths: { locations: "none" } },
    ));
});
