import { mkdir, rename } from "node:fs/promises";
import { csvFileFormat } from "../../src/connectors/csv-drop/csv-drop.ts";
import { DropFolder } from "../../src/connectors/drop-folder/drop-folder.ts";
import { readingBy } from "../connectors/csv-drop/reading.ts";
import { type DropWorld, hl7Message, QUICK, withDropWorld } from "../connectors/drop-world.ts";
import { describeConnectorContract, type LabSide } from "./connector.ts";

/** A lab that writes files. What lies in the archive or the error folder is out of its hands. */
function labOf(
  world: DropWorld,
  create: () => DropFolder,
  content: (orderNumber: string) => string,
): LabSide {
  const { directories, intake } = world;
  return {
    intake,
    create,
    send: async (orderNumber) => {
      await mkdir(directories.in, { recursive: true });
      await world.drop(`${orderNumber}.txt`, content(orderNumber));
    },
    pending: async () => {
      const names = [...(await world.list("in")), ...(await world.list("work"))];
      return names.flatMap((name) => /PO-\d+(?=\.txt$)/.exec(name)?.[0] ?? []);
    },
    received: () => world.list("out"),
    breakDelivery: async () => {
      await rename(directories.out, `${directories.out}-away`);
      return () => rename(`${directories.out}-away`, directories.out);
    },
  };
}

describeConnectorContract("hl7-drop", (test) =>
  withDropWorld((world) =>
    test(
      labOf(
        world,
        () => world.hl7(),
        (orderNumber) => hl7Message(orderNumber),
      ),
    ),
  ),
);

describeConnectorContract("csv-drop", (test) =>
  withDropWorld((world) => {
    const { deps, directories } = world;
    const create = () =>
      new DropFolder(
        () => csvFileFormat({ maxBytes: 64_000_000, reading: readingBy("order_number") }),
        { name: "bench", directories, ...QUICK },
        deps(),
      );
    return test(labOf(world, create, (orderNumber) => `order_number,operation\n${orderNumber},STORE\n`));
  }),
);
