import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, type CliWorld, runCli } from "./run-cli.ts";

/** Whatever else runs on this machine, port 0 is free. */
const SERVICE = ["--service", "https://storage.example.org", "--port", "0"];

/** Runs init on a sample of this content; gives the files that it wrote, empty where there are none. */
async function init(
  content: string | Buffer | undefined,
  more: readonly string[],
  world?: CliWorld,
): Promise<CliResult & { readonly config: string; readonly profile: string }> {
  return withFolder(async (folder) => {
    const sample = join(folder, "sample");
    if (content !== undefined) await writeFile(sample, content);
    const from = content === undefined ? [] : ["--from", sample];
    const dir = join(folder, "config");
    const result = await runCli(["init", "--name", "lab", "--dir", dir, ...from, ...more], world);
    const read = (name: string) => readFile(join(dir, name), "utf8").catch(() => "");
    return { ...result, config: await read("cryobridge.yaml"), profile: await read("profiles/lab.yaml") };
  });
}

const sampleOf = (name: string) => readFile(join("config/samples", name));

describe("init with a table", () => {
  it("writes a configuration and a profile that check and preview pass", async () => {
    const sample = await sampleOf("csv/klinik-01-windows-1252.csv");
    const flags = [...SERVICE, "--facility", "Nord=12", "--facility", "Süd=13"];
    const { status, stdout, config, profile } = await init(sample, flags);
    expect(status).toBe(0);
    expect(stdout).toContain("✓ profile lab: for CSV");
    expect(stdout).toContain("All is well.");
    expect(stdout).toContain("In all: 3 accepted.");
    expect(stdout).toContain("set STORAGE_CLIENT_SECRET: ");
    expect(config).toContain("Süd: 13");
    expect(profile).toContain("Einlagern: STORE");
    expect(profile).toContain("dateFormats: [d.M.yyyy]");
  });

  it("shows headings and codes, and nothing of a patient", async () => {
    const sample = await sampleOf("csv/klinik-01-windows-1252.csv");
    const { stdout, stderr, config, profile } = await init(sample, [
      ...SERVICE,
      "--facility",
      "Nord=12",
      "--facility",
      "Süd=13",
    ]);
    for (const personal of ["Jörg", "Großmuster", "Käthe", "01.03.1975", "7.11.1988"]) {
      expect(stdout + stderr + config + profile).not.toContain(personal);
    }
  });

  it("names in one error all flags to give where nobody can be asked, and writes nothing", async () => {
    const { status, stderr, config } = await init(await sampleOf("csv/excel-01-serial-dates.csv"), []);
    expect(status).toBe(2);
    for (const flag of [
      "--service URL",
      "--place order_number=COLUMN",
      "--operation STORE",
      "--facility N=ID",
    ]) {
      expect(stderr).toContain(flag);
    }
    expect(config).toBe("");
  });

  it("asks whether a word means what it was taken for, and keeps how the lab writes words", async () => {
    const head = "Order no;Operation;Site;Patient ID;Label\n";
    const text = `${head}A-1;Einlagern;NORTH;1;V-1\n`;
    const flags = [...SERVICE, "--facility", "NORTH=12", "--operation", "Auslagern=RETRIEVAL"];
    const asked: string[] = [];
    const answer = (question: string) => {
      asked.push(question);
      return /Einlagern/.test(question) ? "REGISTER" : "";
    };
    const { profile } = await init(text, flags, { answer });
    expect(asked.find((each) => each.includes('"Einlagern"'))).toContain("[STORE]");
    expect(profile).toContain("Einlagern: REGISTER");
    expect(profile).toContain("Auslagern: RETRIEVAL");
  });

  it("writes results under the lab's own headings and words, and what the sample may want as comments", async () => {
    const head = "Auftrag;Vorgang;Standort;Patient;Geburtsdatum;Röhrchen\n";
    const text = `${head}(eindeutig);;;;yyyy-mm-dd;\nA-1;Einlagern;Nord;1;1980-11-04;V-1\n`;
    const { profile } = await init(text, [...SERVICE, "--facility", "Nord=12"]);
    expect(profile).toContain("{order_number: Auftrag}, {operation: Vorgang}, {subject_code: Patient}");
    expect(profile).toContain("STORE: Einlagern");
    expect(profile).toMatch(/^# noRow: \["BEGINNING/m);
    expect(profile).toMatch(/^# encoding: utf-8/m);
    expect(profile).not.toContain("eindeutig");
  });

  it("leaves a column of the results its own name where another one is called as the lab calls it", async () => {
    const text = "Order no;Operation;Site;status;Barcode\nA-1;STORE;NORTH;7;V-1\n";
    const flags = [...SERVICE, "--facility", "NORTH=12", "--place", "subject_code=status"];
    const { status, profile } = await init(text, flags);
    expect(status).toBe(0);
    expect(profile).toContain(
      "{order_number: Order no}, {operation: Operation}, subject_code, {container_label: Barcode}, status",
    );
    const both = await init(text, [
      ...flags,
      "--place",
      "order_number=Barcode",
      "--place",
      "container_label=Barcode",
    ]);
    expect(both.stdout + both.stderr).not.toContain("two columns have the heading");
  });

  it("previews what is refused, though it comes last", async () => {
    const rows = [1, 2, 3, 4, 5].map((n) => `A-${n};STORE;NORTH;${n};1980-11-04;V-${n}`);
    const text = `Order no;Operation;Site;Patient ID;Date of birth;Label\n${rows.join("\n")}\nA-6;STORE;NORTH;6;1980-11-04;\n`;
    const { stdout, status } = await init(text, [...SERVICE, "--facility", "NORTH=12"]);
    expect(status).toBe(1);
    expect(/^line \d: \w+$/m.exec(stdout)?.[0]).toBe("line 7: refused");
    expect(stdout).toContain("… and 3 more messages");
    const few = text.replace(/A-[345].*\n/g, "");
    const shown = (await init(few, [...SERVICE, "--facility", "NORTH=12"])).stdout;
    expect(shown.match(/^line \d: \w+$/gm)).toEqual([
      "line 4: refused",
      "line 2: accepted",
      "line 3: accepted",
    ]);
  });

  it("keeps our word for an operation that the lab has several for, and its check has nothing to say", async () => {
    const head = "Order no;Operation;Site;Patient ID;Date of birth;Label\n";
    const words = ["Einlagern", "Einfrieren", "Auslagern"];
    const rows = words.map((word, n) => `A-${n};${word};NORTH;${n};1980-11-04;V-${n}`);
    const given = ["Einlagern=STORE", "Einfrieren=STORE", "Auslagern=RETRIEVAL"].flatMap((each) => [
      "--operation",
      each,
    ]);
    const { stdout, profile } = await init(`${head}${rows.join("\n")}\n`, [
      ...SERVICE,
      "--facility",
      "NORTH=12",
      ...given,
    ]);
    expect(profile).toContain("RETRIEVAL: Auslagern");
    expect(profile).toContain("STORE: STORE");
    expect(stdout).not.toContain("has no word for");
  });

  it("says where to name lines that are no orders, such as one of units", async () => {
    const text =
      "Order no;Operation;Site;Patient ID;Date of birth;Label\n(unique);;;;yyyy-mm-dd;\nA-1;STORE;NORTH;1;1980-11-04;V-1\n";
    const { stdout, profile } = await init(text, [...SERVICE, "--facility", "NORTH=12"]);
    expect(stdout).toContain(
      "1 row without operation, subject_code, container_label: name such lines in noRow",
    );
    expect(profile).toContain("cryobridge preview FILE --connector lab\n");
  });

  it("takes columns by number where there are no headings", async () => {
    const places = ["order_number=1", "subject_code=3", "last_name=4", "first_name=5", "container_label=7"];
    const flags = places.flatMap((place) => ["--place", place]);
    const sample = await sampleOf("csv/freezer-01-headerless.csv");
    const { status, stdout, profile } = await init(sample, [...SERVICE, "--facility", "NORTH=12", ...flags]);
    expect(stdout).toContain("In all: 2 accepted.");
    expect(status).toBe(0);
    expect(profile).toContain("OUT: RETRIEVAL");
  });

  it("asks rather than guess whether 03/04 is in March or in April", async () => {
    const head = "N° de commande;Opération;Centre;N° patient;Prénom;Nom;Date de naissance;Étiquette\r\n";
    const sample = Buffer.from(`${head}C-1;Congélation;Lyon;77;Zoé;Lefèvre;03/04/1985;E-1\r\n`, "latin1");
    const flags = [...SERVICE, "--facility", "Lyon=4"];
    const open = await init(sample, flags);
    expect(open.status).toBe(2);
    expect(open.stderr).toContain("--date-format d/M/yyyy or M/d/yyyy");
    const given = await init(sample, [...flags, "--date-format", "d/M/yyyy"]);
    expect(given.status).toBe(0);
    expect(given.stdout).toContain("In all: 1 accepted.");
  });

  it("finds headings below a title and a blank line", async () => {
    const text =
      'Orders of the day\n\nOrder no;Operation;Site;Patient ID;Label\nA-1;STORE;NORTH;4711;"V 1"\n';
    const { stdout, status, profile } = await init(text, [...SERVICE, "--facility", "NORTH=12"]);
    expect(stdout).toContain("1 rows, headings in line 3\n");
    expect(stdout).toContain("container  V 1");
    expect(stdout).toContain("In all: 1 accepted.");
    expect(status).toBe(0);
    expect(profile).toContain("skipLines: ");
  });

  it("asks for a facility where the sample has a place for it and nothing there", async () => {
    const text = "Order no;Operation;Site;Patient ID;Label\nA-1;STORE;;4711;V-1\n";
    const { status, stderr, config } = await init(text, SERVICE);
    expect([status, config]).toEqual([2, ""]);
    expect(stderr.match(/--facility/g)).toHaveLength(1);
    expect(stderr).toContain("--facility NAME=ID");
  });

  it("reads UTF-16 with tabs, which a profile says where no byte order mark does", async () => {
    const text =
      "Remissnr\tÅtgärd\tKlinik\tPersonnummer\tFörnamn\tEfternamn\tFödelsedatum\tStråmärkning\r\nR-1\tNedfrysning\tUppsala\t1\tÅsa\tÖberg\t1985-01-01\tS-1\r\n";
    const flags = [...SERVICE, "--facility", "Uppsala=3"];
    const marked = await init(Buffer.from(`\ufeff${text}`, "utf16le"), flags);
    expect(marked.stdout).toContain("In all: 1 accepted.");
    expect(marked.status).toBe(0);
    const bare = await init(Buffer.from(text, "utf16le"), [...flags, "--encoding", "utf-16le"]);
    expect(bare.stdout).toContain("In all: 1 accepted.");
    expect(bare.profile).toContain("encoding: utf-16le");
  });
});

const message = (...segments: string[]) =>
  ["MSH|^~\\&|OLDLIS|LAB3|CRYO|STORE|20240101120000||ORM^O01|1|P|2.3", ...segments, ""].join("\r");
const LAB3 = [...SERVICE, "--facility", "LAB3=3"];

describe("init with HL7 messages", () => {
  it.each([
    ["clinic-01-oml-o21-v251-freeze", "FREEZE: STORE"],
    ["clinic-02-oml-o21-v26-thaw", "THAW: RETRIEVAL"],
    ["lims-07-several-messages", "extends: builtin/hl7-orders"],
  ])("takes %s as it is, with the lab's codes", async (name, line) => {
    const flags = [...SERVICE, "--facility", "NORTH=12", "--facility", "SOUTH=13"];
    const { status, profile } = await init(await sampleOf(`hl7/${name}.hl7`), flags);
    expect(status).toBe(0);
    expect(profile).toContain(line);
  });

  it("says where each value was looked for, the facility in its question too", async () => {
    const text = message(
      "PID|1||4711||Muster^Max||19801104|M",
      "ORC|NW|A-1",
      "OBR|1|A-1||IN^Freeze",
      "SAC|||V-1",
    );
    const open = await init(text, SERVICE);
    expect(open.stderr).toContain(
      '--facility LAB3=ID   (Which id does the service have for facility "LAB3" (PV1-3.4, MSH-4.1)?',
    );
    const { stdout, config } = await init(text, LAB3);
    expect(stdout).toContain(
      "facility: PV1-3.4, MSH-4.1\n  subject_code: PID-3[5=MR].1, PID-3[5=PI].1, PID-3.1 alone\n",
    );
    // Nothing that is as it would be without the line.
    expect(config).not.toMatch(/^(log| {2,}stableFor):/m);
  });

  it("finds labels in OBX, numbered lines, Latin-1 and another form of dates", async () => {
    const text = message(
      "PID|1||4711||Müller^Jörg||04.11.1980|M",
      "ORC|NW|A-77",
      "OBR|1|1||K1^Freeze semen",
      "OBX|1|ST|COLOUR^Cap||green",
      "OBX|2|ST|STRAW^Straw id||ST-0815",
      "ORC|NW|A-78",
      "OBR|1|1||K2^Thaw",
      "OBX|1|ST|STRAW^Straw id||ST-0700",
    );
    const { status, stdout, profile } = await init(Buffer.from(text, "latin1"), LAB3);
    expect(stdout).toContain("In all: 1 accepted.");
    expect(stdout).not.toMatch(/Müller|Jörg|04\.11\.1980/);
    expect(status).toBe(0);
    for (const line of [
      "encoding: iso-8859-1",
      "from: ORC-2.1",
      "K2: RETRIEVAL",
      "d.M.yyyy",
      "each: OBX[3.1=STRAW]",
    ]) {
      expect(profile).toContain(line);
    }
  });

  it("finds labels among comments, the patient in PID-2 and the number in OBR-3", async () => {
    const text = message(
      "PID|1|4711|||Muster^Anna||19800411|F",
      "ORC|NW|||G1",
      "OBR|1||ACC-1|FRZ^Freeze",
      "NTE|1||handle with care",
      "NTE|2||LABEL=AB-1001",
      "NTE|3||LABEL=AB-1002",
    );
    const { status, stdout, profile } = await init(text, LAB3);
    expect(stdout).toContain("container  AB-1002");
    expect(status).toBe(0);
    for (const line of ["from: OBR-3.1", "code: PID-2.1", "each: NTE[3^=LABEL=]"])
      expect(profile).toContain(line);
  });

  it("asks which of a patient's identifiers counts", async () => {
    const text = message(
      "PID|1||123^^^HOSP^XX~456^^^REG^NI||Muster^Anna||19800411|F",
      "ORC|NW|Z-1",
      "OBR|1|Z-1||CRYO-STORE",
      "ZVL|1|V-100",
    );
    const open = await init(text, LAB3);
    expect(open.status).toBe(2);
    expect(open.stderr).toContain("subject_code=PID-3[5=XX].1");
    const answered = await init(text, LAB3, {
      answer: (question) => (/identif|number stand/.test(question) ? "PID-3[5=XX].1" : ""),
    });
    expect(answered.status).toBe(0);
    expect(answered.profile).toContain("each: ZVL");
  });

  it("asks which of the lab's own segments has the label, be it as short as A1, and says how to correct it", async () => {
    const text = message(
      "PID|1||4711||Muster^Anna||19800411|F",
      "ORC|NW|Z-1",
      "OBR|1|Z-1||CRYO-STORE",
      ...["ZST|1|A1|red", "ZEM|1|D5|4AA", "ZST|2|A2|blue", "ZEM|1|D6|3BB"],
    );
    const open = await init(text, LAB3);
    expect(open.status).toBe(2);
    expect(open.stderr).toContain('--place "container=ZST-2.1" or --place "container=ZEM-2.1"');
    const answered = await init(text, LAB3, {
      answer: (question) => (/label/.test(question) ? "ZST-2.1" : ""),
    });
    expect(answered.stdout).toContain("container  A2");
    const sole = await init(text.replaceAll(/\rZEM[^\r]*/g, ""), LAB3);
    expect(sole.stdout).toContain(
      "container: ZST, label ZST-2.1; where it is another: --place container_label=PATH",
    );
  });

  it("says which filled parts of the lab's own segments it reads nothing of, and nothing where there are none", async () => {
    const order = ["PID|1||4711||Muster^Anna||19800411|F", "ORC|NW|Z-1", "OBR|1|Z-1||CRYO-STORE"];
    const one = ["ZST|1|V-100|red^dark|", "ZPX|9|Muster"];
    const { stdout, profile } = await init(message(...order, ...one), LAB3);
    expect(profile).toContain("label: ZST-2.1");
    const unused = "not read of the lab's own segments: ZST-3.1, ZST-3.2, ZPX-2";
    expect(stdout.split(unused)).toHaveLength(2);
    expect(profile).toContain(`\n# The sample fills what is ${unused}\n`);
    const whole = await init(message(...order, "ZST|1|V-100", "ZST|2|V-101"), LAB3);
    expect(whole.stdout + whole.profile).not.toContain("own segments");
  });

  it("finds the label in a later field or part of the lab's own segment", async () => {
    const order = ["PID|1||4711||Muster^Anna||19800411|F", "ORC|NW|Z-1", "OBR|1|Z-1||CRYO-STORE"];
    const late = await init(message(...order, "ZST|1|red||||||V-100", "ZST|2|blue||||||V-101"), LAB3);
    expect(late.profile).toContain("label: ZST-8.1");
    const part = await init(message(...order, "ZST|1|red^V-100", "ZST|2|blue^V-101"), LAB3);
    expect(part.profile).toContain("label: ZST-2.2");
    const labels = [
      ["ZST|1|Serum&V-100", "ZST|2|Serum&V-101", "label: ZST-2.1.2"],
      ["ZST|1|a^b^c^d^V-100", "ZST|2|a^b^c^d^V-101", "label: ZST-2.5"],
      ["ZST|1||||||||||||||||V-100", "ZST|2||||||||||||||||V-101", "label: ZST-17.1"],
    ];
    for (const [one = "", other = "", label] of labels)
      expect((await init(message(...order, one, other), LAB3)).profile).toContain(label);
    const repeated = await init(message(...order, "ZST|1|V-100~V-101", "ZST|2|V-102"), LAB3);
    expect(repeated.profile).toMatch(
      /from: ZST-2\.1, split: repetitions|from: ZST-2\.1\n +split: repetitions/,
    );
    expect(repeated.stdout).toContain("In all: 1 accepted.");
  });

  it("asks how the messages come, and over the network where the lab's system is", async () => {
    const text = message(
      "PID|1||4711||Muster^Anna||19800411|F",
      "ORC|NW|Z-1",
      "OBR|1|Z-1||CRYO-STORE",
      "ZST|1|V-1",
    );
    const answer = (question: string) =>
      /over the network/.test(question)
        ? "mllp"
        : /system connect/.test(question)
          ? "0.0.0.0:2600"
          : /take results/.test(question)
            ? "lims.example.org:2576"
            : "";
    const asked = await init(text, LAB3, { answer });
    const given = await init(text, [
      ...LAB3,
      ...["--type", "mllp", "--listen", "0.0.0.0:2600", "--results", "lims.example.org:2576"],
    ]);
    for (const { config } of [asked, given]) {
      expect(config).toContain("type: mllp");
      expect(config).toContain("listen: { host: 0.0.0.0, port: 2600 }");
      expect(config).toContain("results: { host: lims.example.org, port: 2576 }");
    }
    const wrong = await init(text, [...LAB3, "--type", "mllp", "--listen", "2600"]);
    expect(wrong.stderr).toContain("--listen 2600: expected HOST:PORT");
    const implied = await init(text, [...LAB3, "--listen", "0.0.0.0:2600"]);
    expect(implied.config).toContain("type: mllp");
    const other = await init(text, [...LAB3, "--type", "hl7-drop", "--listen", "0.0.0.0:2600"]);
    expect(other.stderr).toContain("--listen and --results are for --type mllp");
    expect(wrong.status).toBe(2);
  });

  it("keeps what it wrote when the sample has a mistake, and ends as preview does", async () => {
    const text = message(
      "PID|1||4711||Muster^Anna||19800230|F",
      "ORC|NW|Z-1",
      "OBR|1|Z-1||CRYO-STORE|||||||||||SEM^^ST-1",
    );
    const { status, stdout, config } = await init(text, LAB3);
    expect(status).toBe(1);
    expect(stdout).toContain("The files are kept, and need a look first.");
    expect(config).not.toBe("");
  });
});

describe("init", () => {
  it("shows the preview also where check finds something of this machine, such as a port in use", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const sample = await sampleOf("hl7/clinic-01-oml-o21-v251-freeze.hl7");
    const facilities = ["--facility", "NORTH=12", "--facility", "SOUTH=13"];
    const { status, stdout } = await init(sample, [...SERVICE, ...facilities, "--port", String(port)]);
    other.close();
    expect(stdout).toContain("needs fixing.");
    expect(stdout).toContain("In all: 1 accepted.");
    expect(status).toBe(1);
  });

  it.each(["https://user:word@storage.example.org", "https://storage.example.org/?a=b", "storage"])(
    "takes no address of the service that the configuration would not: %s",
    async (service) => {
      const flags = ["--service", service, "--facility", "NORTH=12"];
      const { status, stderr, config } = await init(undefined, flags);
      expect([status, config]).toEqual([2, ""]);
      expect(stderr).toContain("expected an address such as https://storage.example.org, without user");
    },
  );
});

describe("init without a sample", () => {
  it.each(["hl7-drop", "csv-drop", "mllp"])(
    "writes the plain case of %s, which check passes",
    async (type) => {
      const { status, stdout, config, profile } = await init(undefined, [
        ...SERVICE,
        "--type",
        type,
        "--facility",
        "NORTH=12",
      ]);
      expect(stdout).toContain("All is well.");
      expect(status).toBe(0);
      expect(config).toContain(`type: ${type}`);
      expect(profile).toContain(`extends: builtin/${type === "csv-drop" ? "csv" : "hl7"}-orders`);
    },
  );

  it("says as one JSON document what was written and checked", async () => {
    const { stdout } = await init(undefined, [...SERVICE, "--facility", "NORTH=12", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      connector: "lab",
      variables: ["STORAGE_CLIENT_ID", "STORAGE_CLIENT_SECRET"],
      check: { isOk: true },
      preview: null,
    });
  });

  it("overwrites nothing without --force", async () => {
    await withFolder(async (folder) => {
      const command = ["init", "--dir", folder, ...SERVICE, "--facility", "NORTH=12"];
      expect((await runCli(command)).status).toBe(0);
      const again = await runCli(command);
      expect(again.status).toBe(2);
      expect(again.stderr).toContain("there already");
      expect(again.stderr).toContain(
        "For a further connector run init with --name and with --dir NEW_FOLDER",
      );
      expect((await runCli([...command, "--force"])).status).toBe(0);
    });
  });
});
