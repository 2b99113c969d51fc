import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";

const profiles = {
  proben: {
    extends: "builtin/csv-orders",
    dateFormats: ["dd.MM.yyyy"],
    placerOrderNumber: "Auftrag",
    operation: { from: "Vorgang", table: { Einlagern: "STORE", Auslagern: "RETRIEVAL" } },
    facility: { from: "Standort", table: { Nord: "NORTH", Süd: "SOUTH" } },
    subject: { code: "Patient", firstName: "Vorname", lastName: "Name", dateOfBirth: "Geboren" },
    containers: { label: { from: "Proben", split: "|" }, description: { from: "Inhalt", split: "|" } },
  },
};

test("labels in one cell are carried out as containers of one order, and a wrong one is refused by its place", () => {
  const times = { stableFor: "50ms", scanInterval: "500ms", resultsEvery: "200ms" };
  const connectors = [{ name: "csv", type: "csv-drop", directory: "csv", profile: "proben", ...times }];
  return withSite({ config: { profiles, connectors } }, async (site) => {
    await site.start();
    const rows = [
      "Auftrag;Vorgang;Standort;Patient;Vorname;Name;Geboren;Proben;Inhalt",
      "K-1;einlagern;Süd;P-1;Jürgen;Groß;24.12.1985;P1|P2;Sperma|Eizelle",
      "K-2;Einlagern;Süd;P-2;Jana;Klein;24.12.1986;P3||P5;Sperma",
      "",
    ];
    await site.drop("csv", "liste.csv", Buffer.from(rows.join("\r\n"), "latin1"));
    const [order] = await site.waitForOrders(1);
    expect(order?.state).toBe("completed");
    const { rows: containers } = await site.pool.query(
      "select label, description from order_containers order by label",
    );
    expect(containers).toEqual([
      { label: "P1", description: "Sperma" },
      { label: "P2", description: "Eizelle" },
    ]);
    const results = await eventually(async () => {
      const text = [...(await site.results("csv")).values()].join("");
      return (text.match(/completed/g) ?? []).length === 2 ? text : undefined;
    });
    expect(results).toMatch(/K-1.*P1.*completed/);
    expect(results).toMatch(/K-1.*P2.*completed/);
    const reports = join(site.folder, "csv/error");
    const name = await eventually(async () => {
      const names = await readdir(reports, { recursive: true }).catch(() => []);
      return names.find((each) => each.endsWith(".error.txt"));
    });
    expect(await readFile(join(reports, name), "utf8")).toContain("line 3, column Proben, part 2");
  });
});
