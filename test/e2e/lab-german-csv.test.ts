import { isUtf8 } from "node:buffer";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { readLab } from "./example-lab.ts";

const lab = await readLab("german-csv");

type Row = Readonly<Record<string, string>>;

function withLabor(run: (site: Site) => Promise<void>): Promise<void> {
  const connector = { directory: "csv", stableFor: "50ms", scanInterval: "500ms", resultsEvery: "50ms" };
  return withSite({ config: lab.config({ connector }) }, async (site) => {
    await site.start();
    await run(site);
  });
}

/** Waits for so many rows of the result files about a dropped file which have this word as their state. */
function rowsOf(site: Site, stem: string, state: string, count: number): Promise<Row[]> {
  const find = async () => {
    const names = [...(await site.results("csv").catch(() => new Map<string, string>())).keys()];
    const rows: Row[] = [];
    for (const name of names.filter((each) => each.startsWith(`${stem}-Ergebnis-`))) {
      const bytes = await readFile(join(site.folder, "csv/out", name));
      const text = isUtf8(bytes) ? bytes.toString("utf8") : iconv.decode(bytes, "windows-1252");
      const [headings = [], ...lines] = text.split("\r\n").map((line) => line.split(";"));
      for (const cells of lines.slice(0, -1))
        rows.push(Object.fromEntries(headings.map((heading, n) => [heading, cells[n] ?? ""])));
    }
    const found = rows.filter(({ Stand }) => Stand === state);
    return found.length >= count ? found : undefined;
  };
  return eventually(find, { what: `${count} rows of ${stem} that are ${state}` });
}

describe("the example lab german-csv", () => {
  test("stores what stands above the total, without the comment, and retrieves it by a file in UTF-8", () =>
    withLabor(async (site) => {
      await site.drop("csv", "einlagern.csv", await lab.sample("einlagern.csv"));
      const orders = await site.waitForOrders(2, ["completed"]);
      const described = orders.flatMap(({ placerOrderNumber, facilityCode, containers }) =>
        containers.map(({ label, description }) => [placerOrderNumber, facilityCode, label, description]),
      );
      expect(described.toSorted()).toEqual([
        ["K-3001", "SOUTH", "K-3001-1", "Samen, ml: 0,5"],
        ["K-3001", "SOUTH", "K-3001-2", "Samen, ml: 0,25"],
        ["K-3002", "NORTH", "K-3002-1", "Eizelle, ml: 1,0"],
      ]);
      const done = await rowsOf(site, "einlagern", "erledigt", 3);
      const first = orders.flatMap(({ containers }) => containers).find(({ label }) => label === "K-3001-1");
      expect(done.find(({ Probe }) => Probe === "K-3001-1")).toMatchObject({
        ...{ Auftrag: "K-3001", Vorgang: "Einlagern", Standort: "Süd", Hinweis: "" },
        Lager: first?.location?.storageName,
        "eingelagert am": expect.stringMatching(/^\d\d\.\d\d\.\d{4} \d\d:\d\d$/),
      });

      await site.drop("csv", "auslagern-utf-8.csv", await lab.sample("auslagern-utf-8.csv"));
      expect(await rowsOf(site, "auslagern-utf-8", "erledigt", 1)).toMatchObject([
        { Auftrag: "K-3003", Vorgang: "Auslagern", Standort: "Süd", Probe: "K-3001-2" },
      ]);
    }));

  test.each([
    ["abgeschnitten", "Zeile 2: die Zeile mit der Summe fehlt, die Datei ist wohl abgeschnitten"],
    ["summe-falsch", "Zeile 3: die Anzahl stimmt nicht mit den Zeilen darüber überein"],
    ["volumen-falsch", "Zeile 3: die Summe stimmt nicht mit den Zeilen darüber überein"],
    ["spalte-fehlt", 'Überschriften: die Spalte ""Probe"" fehlt'],
  ])("refuses %s.csv whole, and says so in German", (stem, words) =>
    withLabor(async (site) => {
      await site.drop("csv", `${stem}.csv`, await lab.sample(`${stem}.csv`));
      const [row] = await rowsOf(site, stem, "abgelehnt", 1);
      expect(row?.Hinweis).toContain(words);
      expect(await site.orders()).toEqual([]);
    }),
  );

  test("says in German which row is wrong and what is waited for", () =>
    withLabor(async (site) => {
      await site.drop("csv", "fehler.csv", await lab.sample("fehler.csv"));
      expect((await rowsOf(site, "fehler", "abgelehnt", 1))[0]?.Hinweis).toBe(
        "Zeile 2, Spalte Geburtsdatum: kein vollständiges Datum wie 24.12.1985",
      );
      expect((await rowsOf(site, "fehler", "wartet", 1))[0]?.Hinweis).toBe(
        "Zeile 3, Spalte Standort: unbekannter Standort West",
      );
    }));
});
