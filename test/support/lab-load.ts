import { createRandom } from "../../src/simulator/chance.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { type LabOrder, labCsv, omlO33 } from "./lab-messages.ts";

/** An order that a lab of the test means to place. */
export interface PlannedOrder {
  readonly number: string;
  readonly connector: "hl7" | "csv";
  readonly operation: "STORE" | "RETRIEVAL";
  readonly subject: string;
  readonly labels: readonly string[];
}

/** Orders, and the files that carry them, in the order in which they are to be dropped. */
export interface LabLoad {
  readonly orders: readonly PlannedOrder[];
  readonly files: readonly {
    readonly connector: "hl7" | "csv";
    readonly name: string;
    readonly content: string;
  }[];
}

/** The simulator's facility that the lab calls NORTH. */
const NORTH = 12;
const PER_FILE = 5;

/**
 * Plans a mixed load: half of the orders in HL7 files, half in CSV files, most of them stores of one to three
 * containers, some retrievals of containers that {@link seedRetrievals} puts there; a third of the orders are for the
 * subject of an earlier one.
 */
export function planLoad(seed: number, count: number, retrievalShare = 0.2): LabLoad {
  const random = createRandom(seed);
  const subjects: string[] = [];
  const orders = Array.from({ length: count }, (_, index): PlannedOrder => {
    const number = `L${seed}-${index + 1}`;
    const earlier = subjects[Math.floor(random.next() * subjects.length)];
    const subject = earlier !== undefined && random.happens(1 / 3) ? earlier : `S-${number}`;
    subjects.push(subject);
    const containers = 1 + Math.floor(random.next() * 3);
    return {
      number,
      connector: Math.floor(index / PER_FILE) % 2 === 0 ? "hl7" : "csv",
      operation: random.happens(retrievalShare) ? "RETRIEVAL" : "STORE",
      subject,
      labels: Array.from({ length: containers }, (_, at) => `V-${number}-${at + 1}`),
    };
  });
  const groups = Array.from({ length: Math.ceil(count / PER_FILE) }, (_, at) =>
    orders.slice(at * PER_FILE, (at + 1) * PER_FILE),
  );
  return { orders, files: groups.map(toFile) };
}

function toFile(orders: readonly PlannedOrder[], index: number): LabLoad["files"][number] {
  const messages = orders.map(toMessage);
  return orders[0]?.connector === "hl7"
    ? { connector: "hl7", name: `f${index + 1}.hl7`, content: messages.map(omlO33).join("") }
    : { connector: "csv", name: `f${index + 1}.csv`, content: labCsv(messages) };
}

function toMessage({ number, operation, subject, labels }: PlannedOrder): LabOrder {
  const words = { STORE: "CRYO-STORE", RETRIEVAL: "CRYO-RETRIEVE" } as const;
  return { number, operation: words[operation], subject, labels };
}

/** Puts what the load's retrievals ask for into the simulated storage. */
export function seedRetrievals(simulator: Simulator, load: LabLoad): void {
  const known = new Set<string>();
  for (const { operation, subject: code, labels } of load.orders) {
    if (operation !== "RETRIEVAL") continue;
    if (!known.has(code)) {
      const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
      simulator.control.addSubject({ facilityId: NORTH, code, ...person });
      known.add(code);
    }
    for (const name of labels) simulator.control.addContainer({ facilityId: NORTH, subjectCode: code, name });
  }
}
