import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { compileProfiles } from "../../src/app/profiles.ts";
import { loadConfig } from "../../src/config/load.ts";
import { phi } from "../../src/core/phi.ts";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, runCli } from "./run-cli.ts";
import { configText, ENV, hl7Message, hl7Text, PATIENT, withLab } from "./with-lab.ts";

interface Dropped {
  readonly name: string;
  readonly content: string | Buffer;
  readonly connector: string;
  /** The configuration, where it is another. */
  readonly text?: string;
}

/** Previews a file of this content, with a configuration whose ledger and service don't exist. */
async function preview(
  { name, content, connector, text = configText(undefined) }: Dropped,
  ...more: string[]
): Promise<CliResult> {
  return withFolder(async (folder) => {
    const config = join(folder, "c.yaml");
    const file = join(folder, name);
    await writeFile(config, text);
    await writeFile(file, content);
    return runCli(["--config", config, "preview", file, "--connector", connector, ...more], { env: ENV });
  });
}

const HL7 = { name: "order.hl7", content: hl7Text(), connector: "lims" };
const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description";
const row = (number: string, facility = "NORTH") =>
  `${number},RETRIEVAL,${facility},${PATIENT.code},${PATIENT.firstName},${PATIENT.lastName},${PATIENT.dateOfBirth},V-1,`;

/** The configuration with results in a character set, for both connectors. */
const inSet = (encoding: string) => ({
  text: `${configText(undefined)}
profiles:
  site-hl7: { extends: builtin/hl7-orders, results: { encoding: ${encoding} } }
  site-csv: { extends: builtin/csv-orders, results: { encoding: ${encoding} } }
`
    .replace("directory: ./hl7", "directory: ./hl7, profile: site-hl7")
    .replace("directory: ./csv", "directory: ./csv, profile: site-csv"),
});

describe("preview without what only the daemon needs", () => {
  const text = `service:
  baseUrl: "\${NO_SERVICE}"
  ca: no-such-file.pem
  auth: { tokenUrl: "https://\${NO_HOST}/token", clientId: c, clientSecret: "\${NO_SECRET}" }
  externalAuth: { apiToken: "\${NO_OTHER}" }
facilities: { NORTH: 12 }
connectors: [{ name: lims, type: hl7-drop, directory: ./hl7 }]
database: { url: "\${NO_DATABASE}" }
queue: { backend: redis, url: "\${NO_REDIS}" }
console: { token: "\${NO_TOKEN}", users: { anna: { token: "\${NO_TOKEN}" } } }
alerts: { to: [{ type: webhook, url: "https://a.example/", secret: "\${NO_KEY}" }] }
proxy: { url: "\${NO_PROXY_URL}" }
`;

  it("shows a message though no secret of the service, database or queue is set", async () => {
    const { status, stdout, stderr } = await preview({ ...HL7, text });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout).toContain("POST /api/procedure-requests");
  });

  it("names the variable that a facility lacks, and how it is set, and no mistake to correct", async () => {
    const lacking = text.replace("NORTH: 12", `NORTH: "\${NORTH_ID}"`);
    const { status, stderr } = await preview({ ...HL7, text: lacking });
    expect(status).toBe(3);
    expect(stderr).toContain("facilities.NORTH: NORTH_ID is not set");
    expect(stderr).toContain("export NORTH_ID=");
    expect(stderr).not.toContain("NO_SECRET");
    expect(stderr).not.toContain("Correct the lines");
  });
});

describe("preview with results in another character set", () => {
  it("shows the answer in it, readable", async () => {
    const content = hl7Text().replace("MSH|^~\\&|LIMS", "MSH|^~\\&|Zoë");
    const { status, stdout } = await preview({ ...HL7, ...inSet("8859/1"), content });
    expect(status).toBe(0);
    expect(stdout).toContain("|8859/1");
    expect(stdout).toContain("|Zoë|");
  });

  it("says which of its results would be parked, and where the trouble is", async () => {
    const content = hl7Text().replaceAll("VIAL-1", "ŁVIAL-1");
    const { stdout } = await preview({ ...HL7, ...inSet("8859/1"), content });
    expect(stdout).toContain("Its results would be parked:");
    expect(stdout).toMatch(/OBX\[\d\]-5 holds a character that iso-8859-1 does not have/);
    expect(stdout).toContain("RESULT_NOT_ENCODABLE");
  });

  it("says so of rows, which have no answer in another set", async () => {
    const content = `${HEADER}\n${row("Ł-1")}\n`;
    const csv = { name: "o.csv", content, connector: "bench", ...inSet("windows-1252") };
    const { stdout } = await preview(csv, "--json");
    const [message] = JSON.parse(stdout).messages;
    expect(message.answer).toBeNull();
    expect(message.resultProblem).toMatchObject({
      code: "RESULT_NOT_ENCODABLE",
      message: "column order_number holds a character that windows-1252 does not have",
    });
  });

  it("says so of rows in the character set of their file, which their results are written in", async () => {
    const content = Buffer.from(`${HEADER}\n${row("\u00c5-1")}\n`, "latin1");
    const words = (code: string) => `
profiles: { site-csv: { extends: builtin/csv-orders, results: { words: { operation: { RETRIEVAL: ${code} } } } } }
`;
    const text = (code: string) =>
      `${configText(undefined)}${words(code)}`.replace(
        "directory: ./csv",
        "directory: ./csv, profile: site-csv",
      );
    const csv = { name: "o.csv", content, connector: "bench" };
    const fits = JSON.parse((await preview({ ...csv, text: text("entnehmen") }, "--json")).stdout);
    expect(fits.messages[0].resultProblem).toBeNull();
    expect(fits.messages[0].answer.rows).toMatchObject([{ operation: "entnehmen" }]);
    const unfit = JSON.parse((await preview({ ...csv, text: text("wyjąć") }, "--json")).stdout);
    expect(unfit.messages[0].resultProblem).toMatchObject({
      message: "column operation holds a character that windows-1252 does not have",
    });
  });

  it("says so of the row about a refused order, and about a table that is refused whole", async () => {
    const refused = row("C-1").replace(PATIENT.dateOfBirth, "1980").replace("V-1", "Ł-1");
    const csv = {
      name: "o.csv",
      content: `${HEADER}\n${refused}\n`,
      connector: "bench",
      ...inSet("windows-1252"),
    };
    const { stdout, stderr } = await preview(csv);
    expect(stderr).toBe("");
    expect(stdout).toContain("column container_label holds a character that windows-1252 does not have");
    const text = csv.text.replace(
      "csv-orders, results: {",
      "csv-orders, results: { columns: [status, input_file],",
    );
    const damaged = { ...csv, name: "Ł.csv", text, content: `${HEADER}\nC-1\n` };
    expect((await preview(damaged)).stdout).toContain(
      "column input_file holds a character that windows-1252",
    );
  });

  it("names a setting that no result can be written by, with status 3", async () => {
    const { status, stderr } = await preview({ ...HL7, ...inSet("utf-16le") });
    expect(status).toBe(3);
    expect(stderr).toContain("results.encoding: utf-16le is for CSV profiles");
  });
});

describe("preview of an HL7 file", () => {
  it("shows the order, the calls and the answer, with the patient hidden", async () => {
    const { status, stdout } = await preview(HL7);
    expect(status).toBe(0);
    expect(stdout).toContain("message 1 (OML^O33, MSG0001): accepted");
    expect(stdout).toContain("Order P-1: STORE at NORTH (12)");
    expect(stdout).toMatch(/ {6}POST \/api\/procedure-requests\n {8}\{"type":"STORE","facilityId":12,/);
    // What has no body or no query shows none.
    expect(stdout).toMatch(/ {6}GET \/api\/subjects\?code=••••&facilityId=12&page=1&perPage=100\n {6}POST /);
    expect(stdout).toContain('"sampleContainerId":"VIAL-1"');
    expect(stdout).toContain("MSA|AA|MSG0001");
    expect(stdout).toContain("    PID|••••\n");
    // The words of a result are ours; what the lab named is not.
    expect(stdout).toMatch(/OBX\|\d+\|TX\|CRYO-STATUS\^Order status\^L\|\|Stored: 1 container\|/);
    expect(stdout).toMatch(/OBX\|\d+\|ST\|CRYO-CONTAINER\^Container label\^L\|1\|VIAL-1\|/);
    expect(stdout).toContain("In all: 1 accepted. Nothing was sent or stored.");
    for (const secret of [...Object.values(PATIENT), "19810203"]) expect(stdout).not.toContain(secret);
  });

  it("shows the exact bodies to who asks for patients' data", async () => {
    const { stdout } = await preview(HL7, "--show-phi");
    const { code, firstName, lastName, dateOfBirth } = PATIENT;
    const body = JSON.stringify({ facilityId: 12, code, firstName, lastName, dateOfBirth });
    expect(stdout).toContain(
      `POST /api/subjects   (if the facility has no subject with that code yet)\n        ${body}`,
    );
    expect(stdout).toContain(`PID|1||${code}^^^LAB^MR||${lastName}^${firstName}`);
  });

  it("shows a rejection with its place, its hint and the answer, with status 1", async () => {
    const { status, stdout } = await preview({ ...HL7, content: hl7Text().replace(PATIENT.code, "") });
    expect(status).toBe(1);
    expect(stdout).toContain("message 1 (OML^O33, MSG0001): refused");
    expect(stdout).toMatch(/PID-3.*\(MAPPING_VALUE_MISSING\)\n +\w/);
    expect(stdout).toContain("MSA|AE|MSG0001");
    expect(stdout).not.toContain("POST");
  });

  it("shows that a message would wait for a code, with its hint and the answer, with status 1", async () => {
    const { status, stdout } = await preview({ ...HL7, content: hl7Text({ facility: "NOWHERE" }) });
    expect(status).toBe(1);
    expect(stdout).toContain("message 1 (OML^O33, MSG0001): waiting");
    expect(stdout).toMatch(/PV1-3\.4.*"NOWHERE".*\(MAPPING_FACILITY_UNKNOWN\)\n +Add a line `"NOWHERE": ID`/);
    expect(stdout).toContain("ORC|OH|P-1|||HD");
    expect(stdout).not.toContain("POST");
  });

  it("shows the result that follows, with an invented place that says so", async () => {
    const { stdout } = await preview(HL7, "--show-phi");
    const [, result = ""] = stdout.split(
      "Result once order P-1 is completed P-1_CBPREVIEW0000002.hl7 (example",
    );
    expect(result).toMatch(/^ {4}MSH\|.*\|ORU\^R01/m);
    expect(result).toMatch(/OBX\|\d\|ST\|CRYO-STORAGE\^Storage\^L\|1\|EXAMPLE TANK\|/);
    expect(result).toMatch(/\|Canister \d, Cane [A-H], Slot \d+\|/);
  });

  it("says what the lab is sent no word of", async () => {
    const profile = "site: { extends: builtin/hl7-orders, results: { send: [refused, waiting] } }";
    const text = configText(undefined, `profiles: { ${profile} }`).replace(
      "./hl7 }",
      "./hl7, profile: site }",
    );
    const { stdout } = await preview({ ...HL7, text });
    expect(stdout).not.toMatch(/Answer to the lab|Result once/);
    expect(stdout).toContain(
      "The lab is sent no word of acknowledged, completed: results.send of the profile lacks them.",
    );
  });

  it("shows one answer to a batch that is answered as a whole, with the patient hidden", async () => {
    const content = `BHS|^~\\&|LIMS|NORTH|||||||BATCH-1\r${hl7Text()}BTS|1\r`;
    const profile = "site: { extends: builtin/hl7-orders, results: { batchResponse: all } }";
    const text = configText(undefined, `profiles: { ${profile} }`).replace(
      "./hl7 }",
      "./hl7, profile: site }",
    );
    const { stdout } = await preview({ ...HL7, content, text });
    const [shown = "", answer = ""] = stdout.split("One answer to the lab for the whole file order.hl7_CH");
    expect(shown).not.toContain("MSA");
    expect(answer).toMatch(/ {2}BHS\|.*\|BATCH-1\n {2}MSH.*\n {2}MSA\|AA\|MSG0001\n/);
    expect(answer).toContain("  BTS|1\n");
    for (const secret of Object.values(PATIENT)) expect(stdout).not.toContain(secret);
  });

  it("says why nothing of a file could be taken", async () => {
    const { status, stdout } = await preview({ ...HL7, content: "" });
    expect(status).toBe(1);
    expect(stdout).toContain("Nothing of the file would be taken:");
    expect(stdout).toContain("HL7_FILE_EMPTY");
  });
});

describe("preview of a CSV file", () => {
  const content = [HEADER, row("C-1"), row("C-2", "NOWHERE"), row("C-3")].join("\n");
  const CSV = { name: "orders.csv", content, connector: "bench" };

  it("shows people first what is not taken, and programs the file's sequence", async () => {
    const { stdout } = await preview(CSV);
    expect(stdout.indexOf("line 3: waiting")).toBeLessThan(stdout.indexOf("line 2: accepted"));
    const { messages } = JSON.parse((await preview(CSV, "--json")).stdout);
    expect(messages.map(({ verdict }: { verdict: string }) => verdict)).toEqual([
      ...["accepted", "waiting", "accepted"],
    ]);
  });

  it("shows each order with what becomes of it, in JSON too", async () => {
    const { status, stdout } = await preview(CSV, "--json");
    const document = JSON.parse(stdout);
    expect(status).toBe(1);
    expect(document).toMatchObject({
      fileName: "orders.csv",
      connector: "bench",
      counts: { accepted: 2, refused: 0, ignored: 0, waiting: 1 },
      problems: [],
    });
    expect(document.messages[0]).toMatchObject({
      place: "line 2",
      verdict: "accepted",
      orders: [
        {
          operation: "RETRIEVAL",
          subject: { code: "••••", lastName: "••••" },
          containers: [{ label: "V-1" }],
        },
      ],
      answer: { kind: "csv", rows: [{ order_number: "C-1", status: "received", subject_code: "••••" }] },
    });
    const last = document.messages[0].orders[0].calls.at(-1);
    expect(last).toMatchObject({
      method: "POST",
      body: { subjectCode: "••••", sampleContainerIds: ["<id of V-1>"] },
      query: null,
    });
    expect(document.messages[1]).toMatchObject({ place: "line 3", verdict: "waiting", orders: [] });
    for (const secret of Object.values(PATIENT)) expect(stdout).not.toContain(secret);
  });

  it("invents another place for each container, in the form of the service's own", async () => {
    const columns = `[container_label, { from: position, as: { regex: { match: "^Canister ([0-9]+), Cane ([A-Z]), Slot ([0-9]+)$", replace: "$1$2$3" } }, header: Platz }]`;
    const text = configText(
      undefined,
      `profiles: { site: { extends: builtin/csv-orders, results: { columns: ${columns} } } }`,
    ).replace("./csv }", "./csv, profile: site }");
    const stored = row("C-1").replace("RETRIEVAL", "STORE");
    const other = stored.replace("V-1", "V-2");
    const { stdout } = await preview({ ...CSV, content: [HEADER, stored, other, ""].join("\n"), text });
    const places = [...stdout.matchAll(/^ {4}V-\d,(\d[A-H]\d+)$/gm)].map(([, place]) => place);
    expect(new Set(places).size).toBe(2);
  });

  it("names the columns whose transforms don't take all values", async () => {
    const columns = "[order_number, { from: status, table: { received: angenommen }, header: Stand }]";
    const text = configText(
      undefined,
      `profiles: { site: { extends: builtin/csv-orders, results: { columns: ${columns} } } }`,
    ).replace("./csv }", "./csv, profile: site }");
    const given = { ...CSV, content: `${HEADER}\n${row("C-1")}\n`, text };
    expect(JSON.parse((await preview(given, "--json")).stdout)).toMatchObject({ untaken: ["Stand"] });
    expect((await preview(given)).stdout).toContain(
      "The transforms of the column Stand don't take all values",
    );
  });

  it("shows the lines that the lab would get, with its headings, delimiter and words", async () => {
    const columns =
      "[{ order_number: Auftrag }, { subject_code: Patient }, { status: Stand }, position, error_code]";
    const words = "{ status: { completed: erledigt, waiting: wartet } }";
    const profile = `site: { extends: builtin/csv-orders, results: { columns: ${columns}, delimiter: ";", words: ${words} } }`;
    const text = configText(undefined, `profiles: { ${profile} }`).replace(
      "./csv }",
      "./csv, profile: site }",
    );
    const lines = [HEADER, row("C-1").replace("RETRIEVAL", "STORE"), row("C-2", "NOWHERE"), ""];
    const { stdout } = await preview({ ...CSV, content: lines.join("\n"), text });
    const shown = (...rows: string[]) =>
      ["", "Auftrag;Patient;Stand;position;error_code", ...rows, ""].join("\n    ");
    expect(stdout).toContain(
      `Answer to the lab orders.csv.results-1.csv:${shown("C-1;••••;received;;")}`.trim(),
    );
    expect(stdout).toMatch(/^ {4}C-1;••••;erledigt;"?Canister \d, Cane [A-H], Slot \d+"?;$/m);
    expect(stdout).toContain("C-2;••••;wartet;;MAPPING_FACILITY_UNKNOWN");
    for (const secret of Object.values(PATIENT)) expect(stdout).not.toContain(secret);
  });

  it("shows the row about a table that is refused whole, and no other", async () => {
    const damaged = { ...CSV, content: `${HEADER}\n${row("C-1")}\nC-2,STORE\n` };
    const { status, stdout } = await preview(damaged, "--json");
    expect(status).toBe(1);
    expect(JSON.parse(stdout).fileAnswer.rows).toMatchObject([{ status: "refused", order_number: "" }]);
    expect((await preview(damaged)).stdout).toContain(
      "the file orders.csv was refused, and nothing of it was taken: line 3: expected 9 columns",
    );
    const text = configText(
      undefined,
      "profiles: { site: { extends: builtin/csv-orders, wholeFile: true } }",
    ).replace("./csv }", "./csv, profile: site }");
    const withCancel = { ...CSV, content: `${content}\n${row("C-4").replace("RETRIEVAL", "CANCEL")}`, text };
    const whole = JSON.parse((await preview(withCancel, "--json")).stdout);
    expect(whole.fileAnswer.rows).toMatchObject([
      { error: expect.stringContaining("1 of 4 messages have mistakes") },
    ]);
    expect(whole.messages).toMatchObject(
      Array.from({ length: 4 }, () => ({ answer: null, controlAnswers: [] })),
    );
  });

  it("shows as many messages as asked for and counts them all", async () => {
    const { stdout } = await preview(CSV, "--limit", "1");
    expect(stdout).not.toContain("C-3");
    expect(stdout).toContain("… and 2 more messages: --limit shows more.\nIn all: 2 accepted, 1 waiting.");
  });
});

describe("a preview that can't be made", () => {
  it("names the connectors that there are", async () => {
    const { status, stderr } = await preview({ ...HL7, connector: "mars" });
    expect(status).toBe(2);
    expect(stderr).toContain("--connector mars: the configuration has lims, bench");
  });

  it("says that a file isn't there, or is a folder; a link to a file is fine", async () => {
    await withFolder(async (folder) => {
      const config = join(folder, "c.yaml");
      await writeFile(config, configText(undefined));
      await writeFile(join(folder, "a.hl7"), hl7Text());
      await symlink("a.hl7", join(folder, "link.hl7"));
      const status = async (name: string) =>
        (await runCli(["-c", config, "preview", join(folder, name), "--connector", "lims"], { env: ENV }))
          .status;
      expect(await status("gone.hl7")).toBe(1);
      expect(await status(".")).toBe(1);
      expect(await status("link.hl7")).toBe(0);
    });
  });
});

const asHl7 = (text: string) => ({
  raw: phi(Buffer.from(text)),
  content: { kind: "hl7", text: phi(text), encoding: "utf-8" } as const,
});

/** A message of ours without its times and its control id. */
const timeless = (text: string) =>
  text
    .replace(/\r/g, "\n")
    .replace(/\d{14}[+-]\d{4}/g, "TIME")
    .replace(/\|C[A-Z0-9]{6,}\|P\|/g, "|ID|P|")
    .trim();

describe("preview of requests about earlier orders", () => {
  const CANCEL = [
    "MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||ORM^O01|C-1|P|2.5.1",
    "ORC|CA|LAB-1",
    "",
  ].join("\r");
  const withAnswers = (controlAnswers: string) =>
    `${configText(undefined)}
profiles: { site: { extends: builtin/hl7-orders, results: { controlAnswers: ${controlAnswers} } } }
`.replace("directory: ./hl7", "directory: ./hl7, profile: site");

  it.each([
    ["response", "|ORR^O02^ORR_O02|"],
    ["result", "|ORU^R01^ORU_R01|"],
  ])("shows what goes out by controlAnswers: %s, done and for want of the order", async (form, type) => {
    const { status, stdout } = await preview({ ...HL7, content: CANCEL, text: withAnswers(form) });
    expect(status).toBe(0);
    const [, done, unknown] = stdout.split(
      /Answer to what it wants of earlier orders|Answer when there are no such/,
    );
    expect(done).toContain(type);
    expect(done).toContain("ORC|CR|LAB-1|");
    expect(unknown).toContain(type);
    expect(unknown).toContain("ORC|UC|LAB-1|");
    expect(unknown).toContain("CANCEL_ORDER_UNKNOWN");
  });

  it.each([
    ["done", true],
    ["for want of the order", false],
  ])("shows the very messages that the daemon would send: %s", (_, isKnown) =>
    withLab(async ({ cli, take, pool, folder, configFile }) => {
      if (isKnown) await take("lims", [hl7Message(1)]);
      const before = (await listOpenOutcomes(pool, "lims", 100)).map(({ id }) => id);
      const content = CANCEL.replace("LAB-1", "P-1");
      await take("lims", [{ ...hl7Message(2), ...asHl7(content) }]);
      const open = (await listOpenOutcomes(pool, "lims", 100)).filter(({ id }) => !before.includes(id));
      const config = loadConfig(configFile, { env: ENV, profileSchema });
      const profile = (await compileProfiles(config)).get("builtin/hl7-orders");
      if (profile === undefined) throw new Error("no profile");
      const { deliveries } = await composeMessages(open, profile);
      // The result of the order itself is no answer: it is made of the message that brought the order.
      const answers = deliveries.filter(({ bytes }) => String(bytes).includes("MSA|"));
      const sent = answers.map(({ bytes }) => timeless(String(bytes)));
      const file = join(folder, "cancel.hl7");
      await writeFile(file, content);
      const { stdout } = await cli(["preview", file, "--connector", "lims", "--json", "--show-phi"]);
      const [message] = JSON.parse(stdout).messages;
      const shown = [message.answer, ...message.controlAnswers]
        .filter((each) => each?.case === undefined || each.case === (isKnown ? "granted" : "unknown"))
        .flatMap((each) => (each === null ? [] : [timeless((each.answer ?? each).text)]));
      expect(shown).toEqual(sent);
    }, ""),
  );

  it("shows no decision by controlAnswers: none", async () => {
    const { stdout } = await preview({ ...HL7, content: CANCEL, text: withAnswers("none") }, "--json");
    const [message] = JSON.parse(stdout).messages;
    expect(message.orderControls).toHaveLength(1);
    // A cancellation that stays open is acknowledged nevertheless.
    expect(message.controlAnswers.map((sample: { case: string }) => sample.case)).toEqual(["open"]);
  });
});

it("shows the answer that goes out with the results behind the one over the connection", async () => {
  const text = `${configText(undefined).replace(
    "{ name: lims, type: hl7-drop, directory: ./hl7 }",
    "{ name: lims, type: mllp, listen: { port: 0 }, results: { host: 127.0.0.1, port: 9 }, applicationAck: results, profile: net }",
  )}
profiles: { net: { extends: builtin/hl7-orders, results: { send: [acknowledged, refused, waiting] } } }
`;
  // MSH-15 and MSH-16: both acknowledgements are wanted.
  const content = hl7Text({ facility: "NOWHERE" }).replace(
    /^(MSH(?:\|[^|\r]*){11})[^\r]*/,
    "$1|||AL|AL||UNICODE UTF-8",
  );
  const { stdout } = await preview({ ...HL7, content, text }, "--json");
  const [message] = JSON.parse(stdout).messages;
  expect(message.answer.text).toContain("MSA|CA|");
  expect(message.secondAnswer).toMatchObject({ fileName: null, text: expect.stringContaining("MSA|AA|") });
});
