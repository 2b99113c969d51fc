import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CsvTable, guessColumns, readTable } from "../../src/cli/init/csv-table.ts";
import { guessDateFormats } from "../../src/cli/init/date-formats.ts";
import { MEANINGS, operationOf, operationOfCode, scoreOf } from "../../src/cli/init/headings.ts";

const HEADINGS = {
  English: "Order no.|Operation|Facility|Patient ID|First name|Last name|Date of birth|Tube label|Content",
  German: "Auftrags-Nr.|Vorgang|Standort|Patientennummer|Vorname|Nachname|Geburtsdatum|Röhrchen|Inhalt",
  "German without umlauts": "Auftrag|Aktion|Klinik|Pat-ID|Vorname|Name|Geb.-Datum|Roehrchen-Nr.|Probenart",
  French: "N° de commande|Opération|Centre|N° patient|Prénom|Nom|Date de naissance|Étiquette|Contenu",
  Swedish: "Remissnr|Åtgärd|Klinik|Personnummer|Förnamn|Efternamn|Födelsedatum|Provrör|Provtyp",
  Spanish:
    "Nº de orden|Operación|Centro|Código de paciente|Nombre|Apellidos|Fecha de nacimiento|Etiqueta|Tipo de muestra",
  Italian: "Numero ordine|Operazione|Sede|Codice paziente|Nome|Cognome|Data di nascita|Provetta|Descrizione",
  Dutch:
    "Opdrachtnummer|Handeling|Locatie|Patiëntnummer|Voornaam|Achternaam|Geboortedatum|Buisnummer|Omschrijving",
} as const;
const NAMES =
  "order_number|operation|facility|subject_code|first_name|last_name|date_of_birth|container_label|container_description";
const ROW = "A-1|x|N|P-1|Ada|Example|1990-01-31|V-1|Serum";

function tableOf(columns: readonly string[], rows: readonly (readonly string[])[] = []): CsvTable {
  const maps = rows.map((row) => new Map(columns.map((column, n) => [column, row[n] ?? ""])));
  const reading = { delimiter: ";", characters: undefined } as const;
  const none = { remarks: [], closing: undefined, lastLine: undefined, linesAbove: rows.length };
  return { columns, rows: maps, hasHeader: true, skipLines: 0, headingLine: 1, ...reading, ...none };
}

const meanings = (table: CsvTable) => Object.fromEntries(guessColumns(table));

describe("guesses of columns", () => {
  it.each(Object.entries(HEADINGS))("know %s headings, in whatever order the columns stand", (_, line) => {
    const headings = line.split("|");
    const expected = Object.fromEntries(NAMES.split("|").map((name, n) => [name, headings[n]]));
    fc.assert(
      fc.property(fc.shuffledSubarray(headings, { minLength: headings.length }), (columns) => {
        const values = ROW.split("|");
        const row = columns.map((column) => values[headings.indexOf(column)] ?? "");
        expect(meanings(tableOf(columns, [row]))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  it("leave out what two columns are said to hold alike", () => {
    const found = meanings(tableOf(["Order no.", "Auftragsnummer", "Patient"]));
    expect(found).toEqual({ subject_code: "Patient" });
  });

  it("take the column whose values are operations, whatever its heading", () => {
    const table = tableOf(
      ["X", "Operation note"],
      [
        ["Einlagern", "x"],
        ["Auslagern", "y"],
      ],
    );
    expect(meanings(table)).toEqual({ operation: "X" });
  });

  it("give no heading two meanings that it says as well", () => {
    for (const heading of Object.values(HEADINGS).flatMap((line) => line.split("|"))) {
      const scores = MEANINGS.map((meaning) => scoreOf(heading, meaning)).sort((one, other) => other - one);
      expect(scores[0], heading).toBeGreaterThan(scores[1] ?? 0);
    }
  });
});

describe("guesses of dates", () => {
  it.each([
    [["31.12.1999", "7.11.1988"], ["d.M.yyyy"]],
    [["19810704"], ["yyyyMMdd"]],
    [["25/12/1980", "01/02/1980"], ["d/M/yyyy"]],
    [["12/25/1980", "01/02/1980"], ["M/d/yyyy"]],
    [
      ["31234", "25569", "29.02.1984"],
      ["excel", "d.M.yyyy"],
    ],
    [["1990-01-31 00:00:00"], ["yyyy-MM-dd HH:mm:ss"]],
  ])("read %j as %j", (values, formats) => {
    expect(guessDateFormats(values)).toEqual({ kind: "known", formats });
  });

  it("are open where day and month may be either", () => {
    expect(guessDateFormats(["01/02/1980"])).toEqual({ kind: "open", among: ["d/M/yyyy", "M/d/yyyy"] });
  });

  it("are none for what is no date, and without values", () => {
    expect(guessDateFormats(["Ada", "Bob"])).toEqual({ kind: "none" });
    expect(guessDateFormats(["", " "])).toEqual({ kind: "none" });
  });
});

describe("guesses of operations", () => {
  it("know words of several languages, and leave single letters to a person", () => {
    const words = ["Einlagern", "Congélation", "Uttag", "salida", "SCONGELARE", "invriezen", "E", "A"];
    expect(words.map(operationOf)).toEqual([
      "STORE",
      "STORE",
      "RETRIEVAL",
      "RETRIEVAL",
      "RETRIEVAL",
      "STORE",
      undefined,
      undefined,
    ]);
  });

  it("read the text of a code only when its words agree", () => {
    expect(operationOfCode("K1", "Freeze embryos")).toBe("STORE");
    expect(operationOfCode("K2", "Thaw and freeze again")).toBeUndefined();
  });
});

describe("the table of a sample", () => {
  it("is found below a title, and without headings", async () => {
    const titled = await readTable(
      Buffer.from("Orders of the day;;\n\nAuftrag;Vorgang;Patient\n1;x;2\n"),
      undefined,
    );
    expect(titled).toMatchObject({
      skipLines: 1,
      hasHeader: true,
      columns: ["Auftrag", "Vorgang", "Patient"],
    });
    const bare = await readTable(Buffer.from("FZ-101|IN|F-0001|19810704\n"), undefined);
    expect(bare).toMatchObject({ hasHeader: false, columns: ["1", "2", "3", "4"], delimiter: "|" });
  });
});
