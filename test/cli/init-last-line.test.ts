import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";

const HEADINGS = "Auftrag;Vorgang;Standort;Patientennummer;Röhrchen;Anzahl";
const ROWS = ["A-1;Einlagern;Nord;P-1;V-1;2", "A-1;Einlagern;Nord;P-1;V-2;3"];

/** Runs init on a sample, then previews files by what it wrote. */
async function initAndPreview(sample: readonly string[], ...files: (readonly string[])[]) {
  return withFolder(async (folder) => {
    const dir = join(folder, "config");
    const write = async (name: string, lines: readonly string[]) => {
      const path = join(folder, name);
      await writeFile(path, lines.map((line) => `${line}\n`).join(""));
      return path;
    };
    const from = await write("sample.csv", sample);
    const site = ["--service", "https://storage.example.org", "--port", "0", "--facility", "Nord=12"];
    const init = await runCli(["init", "--name", "lab", "--dir", dir, "--from", from, ...site]);
    const profile = await readFile(join(dir, "profiles/lab.yaml"), "utf8").catch(() => "");
    const config = ["--config", join(dir, "cryobridge.yaml"), "--connector", "lab"];
    const env = { STORAGE_CLIENT_ID: "id", STORAGE_CLIENT_SECRET: "secret" };
    const previews: string[] = [];
    for (const [n, lines] of files.entries()) {
      const file = await write(`file-${n}.csv`, lines);
      previews.push((await runCli(["preview", file, ...config], { env })).stdout);
    }
    return { ...init, profile, previews };
  });
}

/** The settings of a profile that are about lines. */
function ofLines(profile: string): string {
  const lines = profile.split("\n").filter((line) => !line.startsWith("#"));
  const from = lines.findIndex((line) => /^(?:noRow|trailer|skipLines):/.test(line));
  const to = lines.findLastIndex((line) =>
    /^(?:noRow|trailer|skipLines):|^ {2}(?:line|count|sum):/.test(line),
  );
  return lines.slice(from, to + 1).join("\n");
}

describe("init with a sample that ends in a total", () => {
  it("writes the whole profile with a trailer, and noRow for the remark", async () => {
    const { status, stdout, profile } = await initAndPreview([
      "# Export vom 12.11.2026 08:15",
      HEADINGS,
      ...ROWS,
      "Summe;;;;;5",
    ]);
    expect(status).toBe(0);
    expect(stdout).toContain("last line, named as trailer: a file without it is refused");
    expect(stdout).toContain("In all: 1 accepted.");
    expect(profile.split("\n").slice(3).join("\n")).toMatchInlineSnapshot(`
      "extends: builtin/csv-orders
      delimiter: ; # what separates the columns; auto finds it in the first line of each file
      # remarks, which are passed over
      noRow: ["#.*"]
      # the last line of each file; one without it may be cut, and is refused whole
      trailer:
        line: Summe.*
      placerOrderNumber: Auftrag # the column with the order number; rows with one number are one order
      # what is to be done, and the lab's words for it
      operation:
        from: Vorgang
        table:
          Einlagern: STORE
      facility: Standort # where; a name under \`facilities\` of the configuration
      subject:
        code: Patientennummer # the patient's or donor's number
      containers:
        label: Röhrchen # one label for each container
      # the columns of what goes back, under the lab's own headings; docs/guide/mapping-cookbook.md has more
      results:
        columns: [{order_number: Auftrag}, {operation: Vorgang}, {subject_code: Patientennummer}, {container_label: Röhrchen}, status, request_id, procedure_id, procedure_code, storage, canister, cane, position, stored_at, error, updated_at]
        words:
          operation:
            STORE: Einlagern
      # encoding: utf-8 # as the sample is; without this line it is found in each file
      "
    `);
  });

  it.each([
    ["of rows", ["Anzahl Zeilen: 2"], "count: 1"],
    ["of rows and of a column", ["Summe;2;5"], "count: 1"],
    ["in the column of labels", [";;;;Gesamt 5;"], "line: ;;;;Gesamt.*"],
    ["of something else", ["Total;17;"], "line: Total.*"],
    ["of nothing", ["EOF"], "line: EOF.*"],
    ["below which a remark stands", ["Summe;;;;;5", "// geprüft: M. Muster"], "line: Summe.*"],
  ])("names it so that a file which was cut before it is refused, a total %s", async (_, last, setting) => {
    const { profile, previews } = await initAndPreview(
      [HEADINGS, ...ROWS, ...last],
      [HEADINGS, ...ROWS, ...last],
      [HEADINGS, ...ROWS.slice(0, 1)],
    );
    expect(profile).toContain(setting);
    expect(profile).not.toMatch(/skipLines|Muster/);
    const [whole, cut] = previews;
    expect(whole).toContain("In all: 1 accepted.");
    expect(cut).toContain("CSV_TRAILER_MISSING");
    expect(cut).not.toContain("accepted.");
  });

  it("names it so that a file which lost a row above a count is refused", async () => {
    const last = "Anzahl: 2";
    const sample = [HEADINGS, ...ROWS, last];
    const { previews } = await initAndPreview(sample, [HEADINGS, ...ROWS.slice(0, 1), last]);
    expect(previews[0]).toContain("CSV_TRAILER_COUNT");
  });

  it("takes another day's file, with other numbers and remarks", async () => {
    const { previews } = await initAndPreview(
      ["-- Liste 4", HEADINGS, ...ROWS, "Summe;5 Röhrchen am 12.11.2026"],
      [
        HEADINGS,
        ...ROWS,
        "A-2;Einlagern;Nord;P-2;V-3;1.200,5",
        "-- ok",
        "Summe;1.205,5 Röhrchen am 13.11.2026",
      ],
    );
    expect(previews[0]).toContain("In all: 2 accepted.");
  });

  it("names no last row as trailer that is an order, nor a sign of remarks that rows begin with", async () => {
    const sample = [HEADINGS.replace("Auftrag", "#Auftrag"), ...ROWS.map((row) => `#${row}`)];
    const { status, profile } = await initAndPreview(sample);
    expect(status).toBe(0);
    expect(ofLines(profile)).toBe("");
  });
});
