import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import type { CsvRow, IncomingMessage } from "../../src/core/intake.ts";
import type { MappedMessage } from "../../src/core/mapped-message.ts";
import { type Order, sourcesInWords } from "../../src/core/order.ts";
import { phi } from "../../src/core/phi.ts";
import { placeText } from "../../src/core/place.ts";
import { readCsv } from "../../src/formats/csv/read.ts";
import { decodeHl7 } from "../../src/formats/hl7/charset.ts";
import { createMapper } from "../../src/mapping/inbound/mapper.ts";
import { compileProfile } from "../../src/mapping/profile/compile-profile.ts";
import type { CsvProfile, Hl7Profile, Profile } from "../../src/mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../src/mapping/profile/schema.ts";
import { at } from "../support/places.ts";

/** The facilities of every test, as a configuration would name them. */
export const facilityIdByCode = new Map([
  ["NORTH", 12],
  ["SOUTH", 13],
]);

/** A compiled profile; fails the test with the problems when there are any. */
export async function profileOf(definition: ProfileDefinition, module?: unknown): Promise<Profile> {
  const compiled = await compileProfile("test", definition, { loadModule: async () => module });
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems, undefined, 2));
  return compiled.profile;
}

export async function hl7Profile(definition: ProfileDefinition = {}, module?: unknown): Promise<Hl7Profile> {
  return (await profileOf({ extends: "builtin/hl7-orders", ...definition }, module)) as Hl7Profile;
}

export async function csvProfile(definition: ProfileDefinition = {}, module?: unknown): Promise<CsvProfile> {
  return (await profileOf({ extends: "builtin/csv-orders", ...definition }, module)) as CsvProfile;
}

/** What is wrong with a definition, as `place: message` lines. */
export async function problemsOf(
  definition: ProfileDefinition,
  profiles: Record<string, ProfileDefinition> = {},
): Promise<string[]> {
  const loadModule = async () => ({});
  const compiled = await compileProfile("test", definition, { profiles, loadModule });
  return compiled.ok ? [] : compiled.problems.map(({ place, message }) => `${place}: ${message}`);
}

/** An HL7 message as a connector hands it over. */
export function hl7Message(text: string): IncomingMessage {
  return {
    ordinal: 1,
    place: at("message 1"),
    raw: phi(Buffer.from(text)),
    content: { kind: "hl7", text: phi(text) },
  };
}

/** Segments joined as HL7 wants them, after an MSH of a type and version. */
export function hl7Text(type: string, segments: readonly string[], version = "2.5.1"): string {
  const msh = `MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||${type}|MSG-1|P|${version}`;
  return `${[msh, ...segments].join("\r")}\r`;
}

/** Rows of one order as the CSV connector hands them over; lines count from 2, below a header. */
export function csvMessage(rows: readonly Record<string, string>[]): IncomingMessage {
  const content: CsvRow[] = rows.map((values, i) => ({
    line: i + 2,
    values: new Map(Object.entries(values)),
  }));
  return {
    ordinal: 1,
    place: at("line 2"),
    raw: phi(Buffer.from("")),
    content: { kind: "csv", rows: phi(content) },
  };
}

/** Maps one message by a profile, with the facilities above. */
export function mapOne(profile: Profile, message: IncomingMessage): MappedMessage {
  return createMapper(profile, { facilityIdByCode }).map(message);
}

/**
 * A mapped message as fixtures write it: personal data of invented patients laid open, the header and the hints for unknown
 * codes left out.
 */
export function plain({ verdict, orders, controlRequests, problems }: MappedMessage): unknown {
  const plainRequests = controlRequests?.map(({ content, ...request }) => ({
    ...request,
    subjectCode: request.subjectCode?.reveal(),
    content: content && plainOrder(content),
  }));
  const found = problems.map(({ hint: _, table: __, expected: ___, ...problem }) => ({
    ...problem,
    place: placeText(problem.place),
  }));
  const plain = { verdict, orders: orders.map(plainOrder), controlRequests: plainRequests, problems: found };
  return JSON.parse(JSON.stringify(plain));
}

function plainOrder(order: Order): unknown {
  const subject = Object.entries(order.subject).map(([key, value]) => [key, value?.reveal()]);
  const priorSubjectCode = order.priorSubjectCode?.reveal();
  return {
    ...order,
    sources: sourcesInWords(order.sources),
    subject: Object.fromEntries(subject),
    priorSubjectCode,
  };
}

/** Maps a fixture `NAME.hl7` by the built-in profile. */
export async function mapHl7Fixture(file: URL): Promise<unknown[]> {
  const { text, encoding } = decodeHl7(await readFile(file));
  const message = hl7Message(text);
  const content = { kind: "hl7", text: phi(text), encoding } as const;
  return [plain(mapOne(await hl7Profile(), { ...message, content }))];
}

/** Maps a fixture `NAME.csv` by the profile `NAME.yaml` beside it: one result per order number. */
export async function mapCsvFixture(file: URL): Promise<unknown[]> {
  const definition = parse(await readFile(new URL(file.href.replace(/csv$/, "yaml")), "utf8"));
  const profile = (await profileOf(definition)) as CsvProfile;
  const { reading } = profile;
  const rowsByOrder = new Map<string, CsvRow[]>();
  for await (const row of (await readCsv(await readFile(file), reading)).rows) {
    if (row.problem !== undefined) continue;
    const key = reading.identify(row.values).orderNumber || `line ${row.line}`;
    rowsByOrder.set(key, [...(rowsByOrder.get(key) ?? []), row]);
  }
  return [...rowsByOrder.values()].map((rows) => {
    return plain(mapOne(profile, { ...csvMessage([]), content: { kind: "csv", rows: phi(rows) } }));
  });
}
