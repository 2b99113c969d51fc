import fc from "fast-check";
import { expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { csvProfile, mapOne } from "../../mapping/mapped.ts";

const COLUMNS = [
  "order_number",
  "operation",
  "facility",
  "subject_code",
  "first_name",
  "last_name",
  "date_of_birth",
  "container_description",
  "container_label",
] as const;
type Row = Record<(typeof COLUMNS)[number], string>;

const profile = await csvProfile();
const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });

/** The orders that are accepted of a file: number, subject and labels of each. */
async function acceptedOf(file: string): Promise<string[]> {
  const bytes = Buffer.from(file);
  const content = await format.examine(bytes);
  const accepted: string[] = [];
  for await (const batch of content.batches()) {
    for (const { orders } of batch.map((message) => mapOne(profile, message))) {
      accepted.push(
        ...orders.map((order) =>
          describeOrder(
            order.placerOrderNumber ?? "",
            order.subject.code.reveal(),
            order.containers.map(({ label }) => label),
          ),
        ),
      );
    }
  }
  return accepted;
}

const describeOrder = (number: string, subject: string, labels: readonly string[]) =>
  `${number} ${subject} ${labels.toSorted().join(" ")}`;

const cell = (text: string, isQuoted: boolean) =>
  isQuoted || /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** Rows of some orders, in any order of rows and columns, quoted throughout or where needed. */
const file = fc
  .record({
    sizes: fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 2, maxLength: 5 }),
    last: fc.constantFrom("Muster", "Muster, Dr.", 'O"Hara'),
    description: fc.constantFrom("serum", "plasma, 2 ml", "two\nlines", ""),
    columns: fc.shuffledSubarray([...COLUMNS], { minLength: COLUMNS.length }),
    isScattered: fc.boolean(),
    isQuoted: fc.boolean(),
  })
  .map(({ sizes, last, description, columns, isScattered, isQuoted }) => {
    const rows = sizes.flatMap((size, o) =>
      Array.from(
        { length: size },
        (_, i): Row => ({
          order_number: `PO-${101 + o}`,
          operation: "STORE",
          facility: o % 2 === 0 ? "NORTH" : "SOUTH",
          subject_code: `S-${o}`,
          first_name: "Anna",
          last_name: last,
          date_of_birth: "1980-01-01",
          container_description: description,
          container_label: `V-${o}${i}7`,
        }),
      ),
    );
    if (isScattered)
      rows.sort((a, b) => (a.container_label.slice(-2) < b.container_label.slice(-2) ? -1 : 1));
    const lines = rows.map((row) => columns.map((name) => cell(row[name], isQuoted)).join(","));
    const orders = [...Map.groupBy(rows, (row) => row.order_number)].map(([number, own]) =>
      describeOrder(
        number,
        own[0]?.subject_code ?? "",
        own.map((row) => row.container_label),
      ),
    );
    return { header: `${columns.join(",")}\n`, body: `${lines.join("\n")}\n`, orders };
  });

const DAMAGES = {
  "quote too many": (body: string, at: number) => `${body.slice(0, at)}"${body.slice(at)}`,
  "comma too many": (body: string, at: number) =>
    isWithinQuotes(body, at) ? body : `${body.slice(0, at)},${body.slice(at)}`,
  "line end too many": (body: string, at: number) =>
    isWithinQuotes(body, at) ? body : `${body.slice(0, at)}\n${body.slice(at)}`,
  "quote, comma or line end too few": (body: string, at: number) => {
    const next = at + body.slice(at).search(/[",\n]/);
    return body.slice(0, next) + body.slice(next + 1);
  },
} as const;

const isWithinQuotes = (body: string, at: number) => body.slice(0, at).split('"').length % 2 === 0;

test.each(Object.entries(DAMAGES))(
  "a %s lets no order out that the file didn't hold as a whole",
  (_, damage) =>
    fc.assert(
      fc.asyncProperty(file, fc.nat(), async ({ header, body, orders }, position) => {
        expect((await acceptedOf(header + body)).toSorted()).toEqual(orders.toSorted());
        const damaged = damage(body, position % body.length);
        for (const order of await acceptedOf(header + damaged)) expect(orders).toContain(order);
      }),
      // Always the same files: that a quote in a name is read as one more letter, say, is for nobody to forbid.
      { seed: 20261122, numRuns: 150 },
    ),
);
