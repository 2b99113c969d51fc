import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { createMappers } from "../../src/app/connectors.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { IncomingMessage, Intake, MessageVerdict } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { createIntake } from "../../src/jobs/intake/intake.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { takeFile } from "../support/files.ts";
import { at } from "../support/places.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, withLedger } from "../support/with-ledger.ts";
import { type CliResult, type CliWorld, runCli } from "./run-cli.ts";

/** A configuration with a ledger of its own, and the command line on it. */
export interface Lab {
  readonly folder: string;
  readonly configFile: string;
  /** Search path `cryobridge`. */
  readonly pool: pg.Pool;
  /** Runs a command with this configuration. */
  cli(argv: readonly string[], world?: CliWorld): Promise<CliResult>;
  /** Takes messages in as the connector `bench` or `lims` would; one a call of `csvMessage` or `hl7Message`. */
  take(connector: "bench" | "lims", messages: readonly IncomingMessage[]): Promise<MessageVerdict[]>;
}

/** The invented patient whose values must not be seen unless asked for. */
export const PATIENT = {
  code: "PAT-4711",
  firstName: "Ottilie",
  lastName: "Quersack",
  dateOfBirth: "1981-02-03",
};

/** The text of a configuration; `url` is the database's. */
export function configText(url: string | undefined, more = ""): string {
  return `
dataDir: ./data
service:
  baseUrl: http://127.0.0.1:9
  auth: { apiToken: "\${TOKEN}" }
facilities: { NORTH: 12 }
connectors:
  - { name: lims, type: hl7-drop, directory: ./hl7 }
  - { name: bench, type: csv-drop, directory: ./csv }
console: { port: 0 }
${url === undefined ? "" : `database: { url: "${url}" }`}
${more}
`;
}

export const ENV = { TOKEN: "invented-token" };

/** Gives a test a lab, and removes it; `more` are further lines of its configuration. */
export async function withLab<T>(test: (lab: Lab) => Promise<T>, more = ""): Promise<T> {
  return withLedger(({ pool, url }) =>
    withFolder(async (folder) => {
      const configFile = join(folder, "cryobridge.yaml");
      await writeFile(configFile, configText(url, more));
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      const mappers = createMappers(config, await compileProfiles(config));
      const byConnector = new Map([...mappers].map(([name, mapper]) => [name, { mapper }]));
      const intake = createIntake({
        pool,
        worker: { id: 1, isSure: true },
        clock: systemClock,
        logger: silent,
        rules: () => ({ instanceCode: "ABC123", byConnector }),
        onCommitted: () => {},
      });
      let files = 0;
      return test({
        folder,
        configFile,
        pool,
        cli: (argv, world = {}) =>
          runCli(["--config", configFile, ...argv], { ...world, env: { ...ENV, ...world.env } }),
        take: (connector, messages) => takeNext(pool, intake, connector, messages, ++files),
      });
    }),
  );
}

async function takeNext(
  pool: pg.Pool,
  intake: Intake,
  connector: string,
  messages: readonly IncomingMessage[],
  number: number,
): Promise<MessageVerdict[]> {
  const file = {
    connector,
    fileName: `file-${number}.csv`,
    sha256: number.toString(16).padStart(64, "0"),
    sizeBytes: 1,
  };
  const { opening, end } = await takeFile(pool, intake, file, messages);
  await end({ end: { status: "taken", problems: [] } });
  return opening.status === "duplicate" ? [] : [...opening.verdicts];
}

/** The rows of one CSV order of {@link PATIENT}. */
export function csvMessage(ordinal: number, own: Readonly<Record<string, string>> = {}): IncomingMessage {
  const cells = {
    order_number: `C-${ordinal}`,
    operation: "STORE",
    facility: "NORTH",
    subject_code: PATIENT.code,
    first_name: PATIENT.firstName,
    last_name: PATIENT.lastName,
    date_of_birth: PATIENT.dateOfBirth,
    container_label: `V-${ordinal}`,
    container_description: `serum ${PATIENT.lastName}`,
    ...own,
  };
  const line = ordinal + 1;
  const text = `${Object.keys(cells).join(",")}\n${Object.values(cells).join(",")}\n`;
  return {
    ordinal,
    place: at(`line ${line}`),
    raw: phi(Buffer.from(text)),
    content: { kind: "csv", rows: phi([{ line, values: new Map(Object.entries(cells)) }]) },
  };
}

/** An HL7 storage order of {@link PATIENT}; each line ended by CR. */
export function hl7Text(own: { readonly facility?: string; readonly number?: string } = {}): string {
  const { facility = "NORTH", number = "P-1" } = own;
  const [year, month, day] = PATIENT.dateOfBirth.split("-");
  return [
    "MSH|^~\\&|LIMS|LAB|CRYO|BIO|20261121101500||OML^O33^OML_O33|MSG0001|P|2.5.1",
    `PID|1||${PATIENT.code}^^^LAB^MR||${PATIENT.lastName}^${PATIENT.firstName}||${year}${month}${day}|F`,
    `PV1|1|I|${facility}^^^${facility}`,
    "SPM|1|S1||SER",
    "SAC|||VIAL-1",
    `ORC|NW|${number}`,
    `OBR|1|${number}||CRYO-STORE^Store`,
    "",
  ].join("\r");
}

/** The same as a message. */
export function hl7Message(ordinal: number, own: Parameters<typeof hl7Text>[0] = {}): IncomingMessage {
  const text = hl7Text(own);
  return {
    ordinal,
    place: at(`message ${ordinal}`),
    raw: phi(Buffer.from(text)),
    content: { kind: "hl7", text: phi(text), encoding: "utf-8" },
  };
}
