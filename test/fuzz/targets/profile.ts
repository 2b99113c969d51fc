import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import { environment } from "../../../src/config/environment.ts";
import { readSource } from "../../../src/config/source.ts";
import { validate } from "../../../src/config/validate.ts";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import type { IncomingMessage } from "../../../src/core/intake.ts";
import { phi } from "../../../src/core/phi.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import type { Profile } from "../../../src/mapping/profile/profile.ts";
import { profileSchema } from "../../../src/mapping/profile/schema.ts";
import { at } from "../../support/places.ts";
import { type InputForm, piecesIn } from "../mutate.ts";
import { examples } from "../seeds.ts";
import { expectKnown, expectThat, type Target } from "../target.ts";
import { expectSound, shown } from "./hl7.ts";

const FORM: InputForm = {
  delimiters: ["\n", ":", ",", " ", "-", "."],
  tokens: piecesIn(
    "extends: builtin/hl7-orders\n¦extends: builtin/csv-orders\n¦format: csv\n¦module: ./m.ts\n¦" +
      "dateFormats: [dd.MM.yyyy]\n¦operation: { from: OBR-4.1, table: { A: STORE } }\n¦" +
      "facility: { value: NORTH }\n¦placerOrderNumber: { from: [ORC-2.1, OBR-2.1], agree: true }\n¦" +
      "subject: { code: { from: 'PID-3[5=MR].1', as: [trim, { regex: { match: '(a+)+$', replace: 'x' } }] } }\n¦" +
      "split: ';'¦every: true¦" +
      "containers: { each: [SAC, 'OBX[3.1=C]'], label: { from: SAC-3, split: repetitions } }\n¦" +
      "results: { send: [completed], format: orm }\n¦as: { pad: { length: 5 } }¦as: { prefix: L- }¦" +
      "as: { date: yyyyMMdd }¦join: [a, b]\n¦trailer: { line: '(\\d+)', count: 1 }\n¦noRow: ['^#']\n¦&a¦*a¦" +
      "<<: *a¦!!str¦!x¦? ¦|\n¦>\n¦~¦null¦true¦__proto__: 1¦constructor: 1¦\u0024{HOME}¦PID-3[1&5=MR].1¦[¦]¦{¦}",
  ),
  brackets: [
    ["[", "]"],
    ["{ a: ", " }"],
    ["(", ")"],
    ["- ", ""],
  ],
};

const HL7 = readFileSync(
  new URL("../../fixtures/hl7/clinic-oml-o21-two-orders.hl7", import.meta.url),
  "utf8",
);
const CSV = Buffer.from(
  "order_number,operation,facility,subject_code,container_label\nA-1,STORE,NORTH,S-1,V-1\n",
);
const FACILITIES = new Map([["NORTH", 12]]);

/** A mapping profile as a file: read, held against its schema, compiled, and used for a message. */
export async function makeTarget(): Promise<Target> {
  const lookUp = environment({}, "/");
  const loadModule = async () => ({ order: () => undefined });
  return {
    name: "profile",
    form: FORM,
    seeds: examples(".yaml").filter((bytes) => bytes.includes("extends:")),
    run: async (input) => {
      // As the configuration takes files.
      if (!isUtf8(input) || input.includes(0)) return "not UTF-8";
      const source = readSource("p.yaml", input.toString("utf8"), lookUp);
      const told = source.problems.map(({ message, line }) => `${line}: ${message}`);
      if (!source.isReadable) return JSON.stringify(told);
      const validation = validate(profileSchema, source.value ?? {}, source);
      if (!validation.isValid) {
        expectThat(validation.problems.length > 0, "a profile that is refused without a reason");
        return JSON.stringify([told, validation.problems]);
      }
      const compiled = await compileProfile("p", validation.value, { loadModule });
      if (!compiled.ok) {
        expectThat(compiled.problems.length > 0, "a profile that is not compiled without a reason");
        return JSON.stringify([told, compiled.problems]);
      }
      return JSON.stringify([told, await useOf(compiled.profile)]);
    },
  };
}

async function useOf(profile: Profile): Promise<unknown> {
  const mapper = createMapper(profile, { facilityIdByCode: FACILITIES });
  const map = (message: IncomingMessage) => {
    const mapped = mapper.map(message);
    expectSound(mapped);
    return shown(mapped);
  };
  if (profile.format === "hl7") {
    const message = { ordinal: 1, place: at("message 1"), raw: phi(Buffer.from(HL7)) };
    return map({ ...message, content: { kind: "hl7", text: phi(HL7) } });
  }
  const content = await csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading }).examine(CSV);
  for (const { code } of content.problems) expectKnown(code);
  const outcomes: unknown[] = [];
  for await (const batch of content.batches()) outcomes.push(...batch.map(map));
  return [content.problems, outcomes];
}
