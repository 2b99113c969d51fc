import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { MLLP_ADDRESS } from "../../config/connector-schema.ts";
import { CONSOLE_ADDRESS } from "../../config/schema.ts";
import { serviceSchema } from "../../config/service-schema.ts";
import { codeOf, Failure } from "../../core/failures.ts";
import { makeFolders } from "../../core/make-folders.ts";
import { splitHl7File } from "../../formats/hl7/file.ts";
import { clean } from "../../operator/text.ts";
import { collect, oneOf, parsePeer, wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { completeCodes } from "../init/codes.ts";
import { draftCsv, withResultWords } from "../init/csv-profile.ts";
import { readTable } from "../init/csv-table.ts";
import { type Draft, type Given, type InitOptions, readGiven } from "../init/given.ts";
import { draftHl7 } from "../init/hl7-profile.ts";
import { Questions } from "../init/questions.ts";
import {
  CONNECTOR_TYPES,
  type ConnectorType,
  configText,
  type Mllp,
  profileText,
  VARIABLES,
} from "../init/texts.ts";
import { readInput } from "../io.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { checkAll } from "./check.ts";
import { preview } from "./preview.ts";

/** `cryobridge init`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--from <file>", "a sample file from the lab, HL7 or CSV; the profile is made to fit it")
    .option("--type <type>", `how the lab sends: ${CONNECTOR_TYPES.join(", ")}`, oneOf(CONNECTOR_TYPES))
    .option("--service <url>", "address of the storage service")
    .option("--facility <name=id>", "the lab's name for a facility and the service's id; repeatable", collect)
    .option(
      "--operation <word=operation>",
      "what a word of the lab means, or STORE alone for all orders; repeatable",
      collect,
    )
    .option(
      "--place <what=place>",
      "where a value stands: a column or an HL7 path, such as order_number=ORC-3.1; repeatable",
      collect,
    )
    .option("--date-format <format>", "how the lab writes dates, such as dd/MM/yyyy; repeatable", collect)
    .option("--encoding <name>", "character set of the lab's files, where the sample doesn't show it")
    .option("--name <connector>", "name of the connector")
    .option("--dir <folder>", "folder of the configuration; that of --config unless given")
    .option("--data <folder>", "folder of the embedded database")
    .option("--folder <folder>", "folder into which the lab drops its files")
    .option("--listen <host:port>", "with --type mllp: where the lab's system connects, such as 0.0.0.0:2575")
    .option(
      "--results <host:port>",
      "with --type mllp: where the lab's system takes results; a folder unless given",
    )
    .option("--port <n>", "port of the console", wholeNumber(0, 65_535), CONSOLE_ADDRESS.port)
    .option("-y, --yes", "ask nothing that has a usual answer")
    .option("--force", "overwrite files")
    .addHelpText(
      "after",
      `
Example:
  cryobridge init --from order.csv --service https://storage.example.org --facility NORTH=12

Asks for what is not given, where somebody is at the terminal. Then checks the written configuration (check --offline) and
previews the sample with it. Shows headings and codes of the sample, never patients' values.`,
    )
    .action(toAction(cli, init));
}

async function init(session: Session, options: InitOptions): Promise<ExitStatus | undefined> {
  const questions = new Questions(session, options.yes === true);
  const given = readGiven(options);
  const configFile = options.dir === undefined ? session.configFile : join(options.dir, "cryobridge.yaml");
  const from = options.from ?? (await askSample(questions));
  const sample = from === undefined ? undefined : await readInput(session.io, from);
  const type = await typeOf(sample, options, questions);
  const name = await nameOf(type, options, questions);
  const profileFile = join(dirname(configFile), "profiles", `${name}.yaml`);
  requireFree([configFile, profileFile], options);
  const service = await askService(options, questions);
  const mllp = type === "mllp" ? await askMllp(options, questions) : undefined;
  const draft = await draftOf(type, sample, given, questions);
  const { definition, facilities, operations } = await completeCodes(draft, sample, given, questions);
  questions.requireAnswers();
  const findings = [
    ...draft.findings,
    ...[...operations].map(([word, operation]) => `operation ${word}: ${operation}`),
  ];
  if (!session.isJson) {
    if (from !== undefined) session.line(`What ${clean(basename(from))} shows:`);
    session.lines(findings.map(clean), 2);
  }
  if (from !== undefined && !(await questions.agrees("Is that right?"))) {
    session.note(
      "Nothing was written. Say what is different with --place (such as --place facility=PLACE), --operation or --date-format.",
    );
    return EXIT.failed;
  }
  const base = basename(dirname(resolve(configFile))) === "config" ? ".." : ".";
  const site = {
    ...{ service, facilities, connector: name, type, profile: name, port: options.port, mllp },
    dataDir: options.data === undefined ? `${base}/data` : resolve(options.data),
    folder: options.folder === undefined ? `${base}/drop/${name}` : resolve(options.folder),
  };
  const head = headOf(type, name, from);
  const { comments, tail } = draft;
  await writeOrFail(
    profileFile,
    profileText(withResultWords(definition, operations), { head, comments, tail }),
  );
  await writeOrFail(configFile, configText(site));
  return finish(session, { configFile, profileFile, from, connector: name, findings });
}

/** @throws Failure CLI_USAGE for a place where this account may not write */
async function writeOrFail(file: string, text: string): Promise<void> {
  try {
    await makeFolders(dirname(file));
    await writeFile(file, text);
  } catch (error) {
    const code = codeOf(error) ?? "unknown error";
    const message = `${file} can't be written (${code}); name another folder with --dir, or run it as an account that may write there`;
    throw new Failure("CLI_USAGE", { message, cause: error });
  }
}

async function askSample(questions: Questions): Promise<string | undefined> {
  const answer = await questions.ask({
    text: "A sample file from the lab, HL7 or CSV, or none:",
    flag: "--from FILE",
    usual: "none",
    trouble: (path) => (path === "none" || existsSync(path) ? undefined : "there is no such file"),
  });
  return answer === "none" ? undefined : answer;
}

async function typeOf(
  sample: Buffer | undefined,
  options: InitOptions,
  questions: Questions,
): Promise<ConnectorType> {
  const isOverNetwork = options.listen !== undefined || options.results !== undefined;
  const type = options.type ?? (isOverNetwork ? "mllp" : undefined);
  if (isOverNetwork && type !== "mllp")
    throw new Failure("CLI_USAGE", `--listen and --results are for --type mllp, and this is ${type}`);
  if (sample === undefined) {
    const answer =
      type ??
      (await questions.ask({
        text: `How does the lab send its orders? ${CONNECTOR_TYPES.join(", ")}:`,
        flag: "--type TYPE",
        usual: "hl7-drop",
        trouble: (text) => (isType(text) ? undefined : `expected one of ${CONNECTOR_TYPES.join(", ")}`),
      }));
    return answer !== undefined && isType(answer) ? answer : "hl7-drop";
  }
  const isHl7 = splitHl7File(sample).parts.length > 0;
  if (type !== undefined && (type === "csv-drop") === isHl7) {
    throw new Failure("CLI_USAGE", `--type ${type}: the sample is ${isHl7 ? "HL7" : "no HL7"}`);
  }
  if (type !== undefined || !isHl7) return type ?? "csv-drop";
  const answer = await questions.ask({
    text: "Does the lab send its messages as files (hl7-drop) or over the network (mllp)?",
    flag: "--type hl7-drop or --type mllp",
    usual: "hl7-drop",
    trouble: (text) => (isType(text) && text !== "csv-drop" ? undefined : "expected hl7-drop or mllp"),
  });
  return answer === "mllp" ? answer : "hl7-drop";
}

/** Where the lab's system connects, and where it takes results; those go into a folder where it takes none. */
async function askMllp({ listen, results }: InitOptions, questions: Questions): Promise<Mllp> {
  const trouble = (text: string) =>
    parsePeer(text) ? undefined : "expected HOST:PORT, such as 0.0.0.0:2575";
  const there = await questions.ask({
    ...{ text: "Where does the lab's system connect?", flag: "--listen HOST:PORT", trouble },
    ...{ given: listen, usual: `${MLLP_ADDRESS.host}:${MLLP_ADDRESS.port}` },
  });
  const back = await questions.ask({
    text: "Where does it take results? HOST:PORT, or none for files in a folder:",
    ...{ flag: "--results HOST:PORT", given: results, usual: "none" },
    trouble: (text) => (text === "none" ? undefined : trouble(text)),
  });
  return { listen: parsePeer(there ?? "") ?? MLLP_ADDRESS, results: parsePeer(back ?? "") };
}

function isType(text: string): text is ConnectorType {
  return CONNECTOR_TYPES.some((type) => type === text);
}

async function nameOf(type: ConnectorType, { name }: InitOptions, questions: Questions): Promise<string> {
  const trouble = (text: string) =>
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/.test(text) ? undefined : "expected up to 40 letters, digits, - and _";
  const usual = type === "csv-drop" ? "lab-csv" : "lims";
  const given =
    name ??
    (await questions.ask({ text: "A name for the connector:", flag: "--name NAME", usual, trouble })) ??
    usual;
  const wrong = trouble(given);
  if (wrong !== undefined) throw new Failure("CLI_USAGE", `--name ${given}: ${wrong}`);
  return given;
}

async function askService({ service }: InitOptions, questions: Questions): Promise<string> {
  const trouble = (text: string) => serviceSchema.in.shape.baseUrl.safeParse(text).error?.issues[0]?.message;
  const given =
    service ??
    (await questions.ask({ text: "Address of the storage service:", flag: "--service URL", trouble })) ??
    "https://storage.example.org";
  const wrong = trouble(given);
  if (wrong !== undefined) throw new Failure("CLI_USAGE", `--service ${given}: ${wrong}`);
  return given;
}

/** @throws Failure CLI_USAGE rather than overwrite what somebody may have written. */
function requireFree(files: readonly string[], { force }: InitOptions): void {
  const taken = force === true ? [] : files.filter((file) => existsSync(file));
  if (taken.length === 0) return;
  const verb = taken.length === 1 ? "is" : "are";
  throw new Failure(
    "CLI_USAGE",
    `${taken.join(" and ")} ${verb} there already. For a further connector run init with --name and with --dir NEW_FOLDER; then copy its profile into profiles, its lines below connectors and facilities into your configuration, and run cryobridge check. --force overwrites what is there`,
  );
}

async function draftOf(
  type: ConnectorType,
  sample: Buffer | undefined,
  given: Given,
  questions: Questions,
): Promise<Draft> {
  const isCsv = type === "csv-drop";
  if (sample === undefined) {
    return {
      definition: { extends: isCsv ? "builtin/csv-orders" : "builtin/hl7-orders" },
      comments: new Map(),
      findings: [],
      lacksFacility: false,
    };
  }
  return isCsv
    ? draftCsv(await readTable(sample, given.encoding), given, questions)
    : draftHl7(sample, given, questions);
}

function headOf(type: ConnectorType, name: string, from: string | undefined): string[] {
  const what = type === "csv-drop" ? "tables" : "HL7 messages";
  const builtin = type === "csv-drop" ? "builtin/csv-orders" : "builtin/hl7-orders";
  return [
    `How the lab's ${what} become orders. Written by cryobridge init${from === undefined ? "" : ` to fit ${clean(basename(from))}`}.`,
    `What is not named here is as in ${builtin}; cryobridge profile show ${name} prints all of it.`,
    `Recipes: docs/guide/mapping-cookbook.md. After a change: cryobridge preview FILE --connector ${name}`,
    ...(from === undefined ? ["Name below what your lab sends otherwise, such as:", EXAMPLES[type]] : []),
  ];
}

/** A line that many labs need. */
const EXAMPLES: Readonly<Record<ConnectorType, string>> = {
  "hl7-drop": "  operation: { from: OBR-4.1, table: { FREEZE: STORE, THAW: RETRIEVAL } }",
  mllp: "  operation: { from: OBR-4.1, table: { FREEZE: STORE, THAW: RETRIEVAL } }",
  "csv-drop": "  operation: { from: Action, table: { FREEZE: STORE, THAW: RETRIEVAL } }",
};

interface Written {
  readonly configFile: string;
  readonly profileFile: string;
  readonly from: string | undefined;
  readonly connector: string;
  readonly findings: readonly string[];
}

/** Checks and previews what was written, as those commands do; the exit status is theirs. */
async function finish(
  session: Session,
  { configFile, profileFile, from, connector, findings }: Written,
): Promise<ExitStatus | undefined> {
  const { env } = session.io;
  const unset = Object.keys(VARIABLES).filter((name) => !env[name] && !env[`${name}_FILE`]);
  const standIns = Object.fromEntries(unset.map((name) => [name, `stand-in-for-${name}`]));
  const results: unknown[] = [];
  const inner: Session = {
    ...session,
    configFile,
    io: { ...session.io, env: { ...env, ...standIns } },
    json: (value) => results.push(value),
  };
  title(session, `Wrote ${configFile} and ${profileFile}.`);
  title(
    session,
    `cryobridge check --offline${unset.length > 0 ? ", with stand-ins for the variables that are not set" : ""}:`,
  );
  const checked = await checkAll(inner, { offline: true });
  let previewed: ExitStatus | undefined;
  // A preview needs a configuration that can be read, and no folders or ports; standard input is read only once.
  if (from !== undefined && from !== "-" && checked !== EXIT.configuration) {
    title(session, `cryobridge preview ${from} --connector ${connector}:`);
    previewed = await preview(inner, from, { connector, limit: 3 });
  }
  const status = checked ?? previewed;
  if (session.isJson) {
    const [check, sample = null] = results;
    session.json({
      configuration: configFile,
      profile: profileFile,
      connector,
      findings,
      variables: unset,
      check,
      preview: sample,
    });
    return status;
  }
  title(session, status === undefined ? "Next:" : "The files are kept, and need a look first. Then:");
  const config = session.configFile === configFile ? "" : ` --config ${configFile}`;
  for (const name of unset) {
    session.line(`  set ${name}: ${VARIABLES[name as keyof typeof VARIABLES]}`);
  }
  session.line(`  cryobridge check${config}`);
  session.line(`  cryobridge start${config}`);
  return status;
}

function title(session: Session, text: string): void {
  if (session.isJson) return;
  session.line();
  session.line(session.paint("bold", clean(text)));
}
