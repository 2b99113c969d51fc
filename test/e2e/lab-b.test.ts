import { readFile } from "node:fs/promises";
import { join } from "node:path";
import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const PROFILE = new URL("../../config/profiles/lab-b.yaml", import.meta.url);

const HEADINGS = "Auftrag;Vorgang;Standort;Patient;Nachname;Vorname;Geburtsdatum;Proben;Material";
const COLUMNS = [
  ...["Auftrag", "Vorgang", "Standort", "Patient", "Probe", "Stand", "Lager", "Kanister", "Stab", "Platz"],
  ...["eingelagert am", "Hinweis", "gemeldet am"],
];

/** A file as a German Excel saves it. */
const excel = (...rows: readonly string[]) =>
  iconv.encode([HEADINGS, ...rows, ""].join("\r\n"), "windows-1252");

/** A site of the lab: a folder `csv` with the example profile. */
async function withLabB(test: (site: Site) => Promise<void>): Promise<void> {
  const profiles = { "lab-b": parse(await readFile(PROFILE, "utf8")) };
  const times = { stableFor: "50ms", scanInterval: "500ms", resultsEvery: "50ms" };
  const connectors = [{ name: "csv", type: "csv-drop", directory: "csv", profile: "lab-b", ...times }];
  await withSite({ config: { profiles, connectors, service: { surface: "external" } } }, async (site) => {
    await site.start();
    await test(site);
  });
}

type Row = Readonly<Record<string, string>>;

/** The rows of all results whose marker is there, file by file, each by its headings. */
async function readResults(site: Site): Promise<{ readonly files: readonly string[]; readonly rows: Row[] }> {
  const out = join(site.folder, "csv", "out");
  const names = [...(await site.results("csv").catch(() => new Map<string, string>())).keys()];
  const files = names.filter((name) => names.includes(`${name}.ok`));
  const rows: Row[] = [];
  const numberOf = (name: string) => Number(/-(\d+)\.csv$/.exec(name)?.[1]);
  for (const name of files.sort((a, b) => numberOf(a) - numberOf(b))) {
    const text = iconv.decode(await readFile(join(out, name)), "windows-1252");
    const [headings, ...lines] = text.split("\r\n").slice(0, -1);
    expect(headings?.split(";")).toEqual(COLUMNS);
    for (const line of lines) {
      const cells = line.split(";");
      expect(cells).toHaveLength(COLUMNS.length);
      rows.push(Object.fromEntries(COLUMNS.map((column, i) => [column, cells[i] ?? ""])));
    }
  }
  return { files, rows };
}

/** Waits for a row of an order with a status for each of its labels. */
async function rowsOf(site: Site, number: string, status: string, count: number): Promise<Row[]> {
  return eventually(
    async () => {
      const { rows } = await readResults(site);
      const found = rows.filter((row) => row.Auftrag === number && row.Stand === status);
      return found.length >= count ? found : undefined;
    },
    { what: `${number} ${status}` },
  );
}

/** A time as the lab writes it, by the runtime's own German. */
const inVienna = (time: string | undefined) =>
  new Date(time ?? "")
    .toLocaleString("de-DE", { timeZone: "Europe/Vienna", dateStyle: "medium", timeStyle: "short" })
    .replace(", ", " ");

/** The cells of the place of a container, from the ledger. */
function placeOf(order: LedgerOrder | undefined, label: string): Row {
  const location = order?.containers.find((container) => container.label === label)?.location;
  return {
    Lager: location?.storageName ?? "",
    Kanister: (location?.canister ?? "").replace(".", ","),
    Stab: (location?.cane ?? "").replace(".", ","),
    Platz: (location?.position ?? "").replace(".", ","),
    "eingelagert am": inVienna(location?.storedAt),
  };
}

const WHEN = expect.stringMatching(/^\d\d\.\d\d\.\d{4} \d\d:\d\d$/);

describe("lab B, which works with a German Excel", () => {
  test("gets every result as such a table, cell by cell, with a marker behind each file", () =>
    withLabB(async (site) => {
      await site.drop(
        "csv",
        "Aufträge.csv",
        excel(
          "B-1;Einlagern;Süd;4711;Müller;Jörg;24.12.1985;P-1|P-2;Samen",
          "B-2;Einlagern;Nord;4712;Groß;Änne;1.2.1990;P-3;Eizelle",
        ),
      );
      const orders = await site.waitForOrders(2);
      const order = orders.find(({ placerOrderNumber }) => placerOrderNumber === "B-1");
      const about = (Probe: string) => ({
        ...{ Auftrag: "B-1", Vorgang: "Einlagern", Standort: "Süd", Patient: "4711", Probe, Hinweis: "" },
        "gemeldet am": WHEN,
      });
      const nowhere = { Lager: "", Kanister: "", Stab: "", Platz: "", "eingelagert am": "" };
      expect(await rowsOf(site, "B-1", "angenommen", 2)).toEqual([
        { ...about("P-1"), ...nowhere, Stand: "angenommen" },
        { ...about("P-2"), ...nowhere, Stand: "angenommen" },
      ]);
      const done = await rowsOf(site, "B-1", "erledigt", 2);
      expect(done).toEqual([
        { ...about("P-1"), ...placeOf(order, "P-1"), Stand: "erledigt" },
        { ...about("P-2"), ...placeOf(order, "P-2"), Stand: "erledigt" },
      ]);
      expect(done.every(({ Lager, Kanister }) => Lager !== "" && Kanister !== "")).toBe(true);
      expect(await rowsOf(site, "B-2", "erledigt", 1)).toMatchObject([{ Standort: "Nord", Probe: "P-3" }]);
      const { files } = await readResults(site);
      expect(files.map((name) => name.replace(/\d+\.csv$/, ""))).toEqual(
        files.map(() => "Aufträge-Ergebnis-"),
      );

      await site.drop("csv", "Abholung.csv", excel("B-3;Auslagern;Süd;4711;Müller;Jörg;24.12.1985;P-1;"));
      expect(await rowsOf(site, "B-3", "erledigt", 1)).toMatchObject([
        { Vorgang: "Auslagern", Probe: "P-1" },
      ]);
    }));

  test("reads in its own words why an order was refused or waits, with the row and the column", () =>
    withLabB(async (site) => {
      await site.drop(
        "csv",
        "Fehler.csv",
        excel(
          "B-4;Einlagern;Nord;4711;Müller;Jörg;31.2.1985;P-4;Samen",
          "B-5;Einlagern;West;4712;Groß;Änne;1.2.1990;P-5;Eizelle",
          "B-6;Einlagern;Süd;4713;Weiß;Ida;3.4.1991;P-6||P-7;Eizelle",
        ),
      );
      const [refused] = await rowsOf(site, "B-4", "abgelehnt", 1);
      expect(refused?.Hinweis).toBe("Zeile 2, Spalte Geburtsdatum: kein vollständiges Datum wie 24.12.1985");
      const [empty] = await rowsOf(site, "B-6", "abgelehnt", 1);
      expect(empty?.Hinweis).toBe("Zeile 4, Spalte Proben, Teil 2: keine Probe genannt");
      const [waiting] = await rowsOf(site, "B-5", "wartet", 1);
      expect(waiting?.Hinweis).toMatch(/^"?Zeile 3, Spalte Standort: unbekannter Standort /);
    }));
});
