import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import type { FileDialect } from "../../../src/core/intake.ts";
import type { MappedMessage } from "../../../src/core/mapped-message.ts";
import { placeText } from "../../../src/core/place.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import type { CsvProfile } from "../../../src/mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { type InputForm, piecesIn } from "../mutate.ts";
import { CsvReader } from "../readers/csv-reader.ts";
import { examples } from "../seeds.ts";
import { expectKnown, expectThat, Fault, type Target } from "../target.ts";
import { expectSound, shown, valuesOf } from "./hl7.ts";

const FORM: InputForm = {
  delimiters: ["\n", ",", ";", "\t", "|", '"'],
  tokens: piecesIn(
    "order_number,operation,facility,subject_code,container_label\n¦A-1,STORE,NORTH,S-1,V-1\n¦sep=;\n¦" +
      'order_number¦STORE¦RETRIEVE¦van der Muster¦V 1¦"Anna\nMaria"¦REGISTER¦CANCEL¦HOLD¦STATUS¦NORTH¦SOUTH¦S-1¦V-1¦V-1;V-2¦A-1¦' +
      '"a ""b"""¦"x\ny"¦"¦\'=1¦1.23E+05¦4711.0¦2026-01-02¦1980-02-30¦#REF!¦N/A¦\x1a¦,,,,¦\n\n',
  ),
  brackets: [['"', '"']],
};

const FACILITIES = new Map(["NORTH", "SOUTH", "Nord", "Süd", "BENCH"].map((name, n) => [name, n + 12]));

/** A dropped file: decoded, examined, its rows put together to orders, and mapped. */
export async function makeTarget(): Promise<Target> {
  const plainTaker = takerOf(await profileOf({ extends: "builtin/csv-orders" }), true);
  const takers = await Promise.all(
    EXAMPLE_PROFILES.map(async (path) => {
      const profile = await profileOf(exampleProfile(path));
      return { profile, take: takerOf(profile, false) };
    }),
  );
  const plain =
    "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description\n";
  const rows =
    "A-1,STORE,NORTH,S-1,Anna,Beispiel,1980-01-01,V-1,serum\nA-1,STORE,NORTH,S-1,Anna,Beispiel,1980-01-01,V-2,serum\nA-2,CANCEL,,,,,,,\n";
  const made = [
    plain + rows,
    `\ufeff${plain.replaceAll(",", ";")}${rows.replaceAll(",", ";")}`,
    plain + rows.replaceAll("serum", '"two\nlines"'),
  ];
  return {
    name: "csv",
    form: FORM,
    seeds: [...made.map((text) => Buffer.from(text)), ...examples(".csv", ".tsv")],
    run: (input) => (takers.find(({ profile }) => mayBeFor(profile, input))?.take ?? plainTaker)(input),
  };
}

const EXAMPLE_PROFILES = [
  "config/labs/german-csv/profiles/labor.yaml",
  "config/labs/research-group/profiles/group.yaml",
  "config/labs/public-edition/profiles/clinic.yaml",
  "config/samples/profiles/klinik.yaml",
  "test/fixtures/csv/bench-orders-plain.yaml",
];

/** Whether the columns that a profile needs may be in a file. */
function mayBeFor({ reading }: CsvProfile, input: Buffer): boolean {
  const isNamed = reading.requiredColumns.length > 0;
  return isNamed && reading.requiredColumns.every((names) => names.some((name) => input.includes(name)));
}

function exampleProfile(path: string): ProfileDefinition {
  return parse(readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8"));
}

async function profileOf(definition: ProfileDefinition): Promise<CsvProfile> {
  const compiled = await compileProfile("fuzz", definition, { loadModule: async () => undefined });
  if (!compiled.ok || compiled.profile.format !== "csv") throw new Error(JSON.stringify(compiled));
  return compiled.profile;
}

function takerOf(profile: CsvProfile, isPlain: boolean): (input: Buffer) => Promise<string> {
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const mapper = createMapper(profile, { facilityIdByCode: FACILITIES });
  return async (input) => {
    const content = await format.examine(input);
    for (const { code } of content.problems) expectKnown(code);
    const outcomes: MappedMessage[] = [];
    for await (const batch of content.batches()) {
      expectThat(content.problems.length === 0, "orders of a file that is refused");
      for (const message of batch) {
        const mapped = mapper.map(message);
        expectSound(mapped);
        outcomes.push(mapped);
      }
    }
    if (isPlain && content.dialect !== undefined) expectWhole(outcomes, input, content.dialect);
    return JSON.stringify([content.problems, content.dialect, outcomes.map(shown)]);
  };
}

/** Each value of an order is what stands as a whole in the cell that the order says it is from. */
function expectWhole(outcomes: readonly MappedMessage[], input: Buffer, dialect: FileDialect): void {
  const orders = outcomes.flatMap((mapped) => mapped.orders);
  if (orders.length === 0) return;
  const reader = new CsvReader(input, dialect);
  const header = reader.headerLine("order_number");
  expectNoneLost(outcomes, reader, header);
  for (const order of orders) {
    for (const [name, value] of Object.entries(valuesOf(order))) {
      if (value === undefined) continue;
      const place = PLACE.exec(placeText(order.sources[name] ?? {}));
      if (place === null) throw new Fault(`a value of ${name} without a source`);
      const there = reader.valueAt(Number(place[1]), place[2] ?? "", header);
      if (there === undefined || tidied(there) !== tidied(value))
        throw new Fault(`a value of ${name} that does not stand as a whole in its cell`);
    }
  }
}

/** Where each row was taken, each label in the file is that of an order, and each row of one order about its subject. */
function expectNoneLost(outcomes: readonly MappedMessage[], reader: CsvReader, header: number): void {
  if (
    outcomes.some(({ verdict, controlRequests }) => verdict !== "accepted" || controlRequests !== undefined)
  )
    return;
  const orders = outcomes.flatMap((mapped) => mapped.orders);
  const byNumber = new Map(orders.map((order) => [tidied(order.placerOrderNumber ?? ""), order]));
  const labels = new Set(orders.flatMap(({ containers }) => containers.map(({ label }) => tidied(label))));
  for (const line of reader.rowsBehind(header)) {
    const cell = (column: string) => tidied(reader.valueAt(line, column, header) ?? "");
    const label = cell("container_label");
    expectThat(label === "" || labels.has(label), "a container that no order has");
    const order = byNumber.get(cell("order_number"));
    if (order === undefined) continue;
    expectThat(
      tidied(order.subject.code.reveal()) === cell("subject_code"),
      "a row of another subject's order",
    );
    expectThat(label !== "" || order.containers.length === 0, "a row without a label in an order with some");
  }
}

const PLACE = /^line (\d+), column (.+)$/;

/** Blanks, and the apostrophe before what a spreadsheet would take for a formula, are no part of a value. */
function tidied(text: string): string {
  return text
    .trim()
    .replace(/^'(?=[=+\-@\t\r\n＝＋－＠])/, "")
    .trim()
    .normalize("NFC")
    .replace(/\s+/g, " ");
}
