import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import iconv from "iconv-lite";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { withLedger } from "../support/with-ledger.ts";
import { PATIENT } from "./with-lab.ts";
import { type ServiceBench, withService } from "./with-service.ts";

const SOUTH = { ...PATIENT, code: "PAT-0815" };

/** A service with containers at two facilities, and a ledger. */
function withContainers(
  labels: { readonly north?: readonly string[]; readonly south?: readonly string[] },
  test: (bench: ServiceBench, compare: Compare, pool: pg.Pool) => Promise<void>,
  given: { readonly simulator?: SimulatorOptions; readonly service?: readonly string[] } = {},
): Promise<void> {
  return withLedger(({ url, pool }) =>
    withService({ database: url, ...given }, async (bench) => {
      const { control } = bench.simulator;
      for (const [facilityId, person, names] of [
        [12, PATIENT, labels.north ?? []],
        [13, SOUTH, labels.south ?? []],
      ] as const) {
        control.addSubject({ facilityId, ...person });
        for (const name of names)
          control.addContainer({ facilityId, subjectCode: person.code, name, description: "straw" });
      }
      const list = join(bench.folder, "list.csv");
      const compare: Compare = async (text, ...options) => {
        await writeFile(list, text);
        return bench.cli(["inventory", list, "--facility", "NORTH", ...options]);
      };
      await test(bench, compare, pool);
    }),
  );
}

type Compare = (
  text: string | Buffer,
  ...options: string[]
) => Promise<{ readonly status: number; readonly stdout: string; readonly stderr: string }>;

/** The differences of a JSON document, each as its finding, label and what else it says. */
const findings = (stdout: string) =>
  JSON.parse(stdout).differences.map(
    (each: { finding: string; label: string; lines: number[]; labSays: string; serviceSays: string }) =>
      [each.finding, each.label, each.lines.join(" "), each.labSays, each.serviceSays].join("|"),
  );

describe("the inventory", () => {
  it("says what is missing, elsewhere, duplicate and extra, with status 1", () =>
    withContainers(
      { north: ["V-1", "V-2", "V-2", "V-3", "V-9"], south: ["V-4", "V-5"] },
      async (_, compare) => {
        const { status, stdout, stderr } = await compare(
          "Container label;Tank\nV-1;a\nV-2;a\nV-3;a\nV-3;a\nV-4;a\nV-6;a\n",
          "--json",
        );
        expect([status, stderr]).toEqual([1, ""]);
        expect(findings(stdout)).toEqual([
          "missing|V-6|7||",
          "elsewhere|V-4|6||at another facility",
          "duplicate|V-2|3||several containers",
          "duplicate|V-3|4 5|2 lines|",
          "extra|V-9|||",
        ]);
        const { stdout: table } = await compare("label\nV-1\nV-4\nV-6\n");
        expect(table).toMatch(/\nFINDING {4}LABEL .*\nmissing {4}V-6 .*\nelsewhere {2}V-4 /);
        expect(JSON.parse(stdout)).toMatchObject({
          facility: "NORTH",
          lines: 6,
          leftOut: 0,
          withoutLabel: 0,
          labels: 5,
          listed: 7,
          stored: 5,
          missing: 1,
          elsewhere: 1,
          duplicate: 2,
          extra: 1,
        });
      },
    ));

  it("ends with status 0 when both say the same", () =>
    withContainers({ north: ["V-1", "V-2"], south: ["V-3"] }, async (_, compare) => {
      const { status, stdout } = await compare("label\nV-2\nV-1\n");
      expect(status).toBe(0);
      expect(stdout).toContain("0 missing, 0 elsewhere, 0 duplicate, 0 extra");
      expect(stdout).toContain("Both lists say the same.");
    }));

  it("compares tank and position where their columns are named, without capitals and punctuation", () =>
    withContainers({ north: ["V-1", "V-2", "V-3"] }, async ({ simulator }, compare) => {
      const [first, second] = simulator.control.containers();
      const [tank, other] = simulator.control.storages().filter(({ facilityId }) => facilityId === 12);
      expect([first?.slot?.storageId, second?.slot?.storageId]).toEqual([tank?.id, tank?.id]);
      const place = (slot: typeof first) =>
        `canister ${slot?.slot?.canister} / cane ${slot?.slot?.cane} / slot ${slot?.slot?.slot}`;
      const { stdout } = await compare(
        `label,tank,place\nV-1,${tank?.name.toUpperCase()},${place(first)}\nV-2,${other?.name},${place(first)}\nV-3,,\n`,
        ...["--storage", "tank", "--position", "place", "--json"],
      );
      const said = `${tank?.name}, Canister ${second?.slot?.canister}, Cane ${second?.slot?.cane}, Slot ${second?.slot?.slot}`;
      expect(findings(stdout)).toEqual([`elsewhere|V-2|3|${other?.name}, ${place(first)}|${said}`]);
    }));

  it("leaves out lines by --only, and says what is listed but not in storage", () =>
    withContainers({ north: ["V-1", "V-2"] }, async (bench, compare) => {
      bench.simulator.control.behave({ listedContainers: "all" });
      const retrieved = bench.simulator.control.containers().find(({ name }) => name === "V-2");
      const { id } = await bench.post("/api/procedure-requests", {
        ...{ type: "RETRIEVAL", facilityId: 12, subjectCode: PATIENT.code },
        sampleContainerIds: [retrieved?.id],
      });
      bench.simulator.control.fulfilRequest(Number(id));
      const { stdout } = await compare(
        "status\tvial\nstored\tV-1\nstored\tV-2\nthawed\tV-3\nstored\t\n",
        ...["--only", "status=stored", "--json"],
      );
      expect(findings(stdout)).toEqual(["missing|V-2|3||listed, but not in storage"]);
      expect(JSON.parse(stdout).notes).toEqual([
        expect.stringContaining("4 lines"),
        "--only leaves out 1 line.",
        "1 line without a label was passed over.",
      ]);
    }));

  it("is a CSV text without anything of a patient", () =>
    withContainers({ north: ["V-1", "=V-2"] }, async (_, compare) => {
      const csv = await compare("V-1\nV-7\n", "--no-heading", "--csv");
      expect(csv.stdout).toMatch(
        /^finding,label,lines,container_ids,lab_says,service_says\r\nmissing,V-7,2,,,\r\nextra,'=V-2,,\d+,,\r\n$/,
      );
      expect(csv.status).toBe(1);
      for (const value of Object.values(PATIENT)) expect(csv.stdout).not.toContain(value);
    }));

  it("counts all containers as the facility's where no subject can be read", () =>
    withContainers(
      { north: ["V-1"], south: ["V-2"] },
      async (_, compare) => {
        const { stdout } = await compare("label\nV-1\n", "--json");
        expect(findings(stdout)).toEqual(["extra|V-2|||"]);
        expect(JSON.parse(stdout).notes).toContainEqual(expect.stringContaining("subjects: none"));
      },
      { service: ["surface: external", "subjects: none"] },
    ));

  it("makes no call while the daemons know that the service is away", () =>
    withContainers({ north: ["V-1"] }, async ({ simulator }, compare, pool) => {
      await pool.query(
        `update service_pause
            set cause = 'SERVICE_UNREACHABLE', text = 'nothing listens there', since = now(), failing_since = now(),
                until_at = now() + interval '1 hour'`,
      );
      const before = simulator.tally().received;
      const { status, stderr } = await compare("label\nV-1\n");
      expect([status, stderr]).toEqual([2, expect.stringContaining("SERVICE_")]);
      expect(simulator.tally().received).toBe(before);
    }));

  it("reads lists of many pages and lines", () => {
    const labels = Array.from({ length: 4_321 }, (_, n) => `V-${n}`);
    return withContainers(
      { north: labels },
      async (_, compare) => {
        const lines = ["label", ...labels.slice(1), "W-1"];
        const { stdout } = await compare(lines.join("\r\n"), "--json");
        expect(findings(stdout)).toEqual(["missing|W-1|4322||", "extra|V-0|||"]);
      },
      { service: ["maxRequestsPerSecond: 1000"] },
    );
  });

  it("names no column by a first line that may be a container's, and says how to read such a list", () =>
    withContainers({ north: ["V-1"] }, async (_, compare) => {
      const { firstName, lastName } = PATIENT;
      for (const text of [
        `${lastName};${firstName};V-1\nOther;Person;V-2\n`,
        `${lastName};${firstName}\n`,
        `${lastName};1981-02-03\nOther;1982-03-04\n`,
      ]) {
        const { status, stdout, stderr } = await compare(text);
        expect([status, stdout]).toEqual([2, ""]);
        expect(stderr).toMatch(
          /the list has \d columns\. If its first line is a container, add --no-heading/,
        );
        expect(stderr).not.toMatch(new RegExp(`${lastName}|${firstName}|1981`));
      }
      const { stderr } = await compare(`${lastName};V-1\n`, "--no-heading", "--label", "3");
      expect(stderr).toContain("--label 3: the list has the columns 1, 2");
    }));

  it("knows the column of the label by the words that init knows, unless two are called so", () =>
    withContainers({ north: ["V-1"] }, async (_, compare) => {
      expect((await compare("Standort;Röhrchen\nTank 1;V-1\n")).status).toBe(0);
      // What the service itself calls it.
      expect((await compare("storage;sampleContainerId\nTank 1;V-1\n")).status).toBe(0);
      expect((await compare("Étiquette,Cuve\nV-1,a\n")).status).toBe(0);
      const { status, stderr } = await compare("Röhrchen;Probe\nV-1;V-2\n");
      expect([status, stderr]).toEqual([2, expect.stringContaining("name it with --label")]);
    }));

  it("takes a list in Windows-1252, and none that only looks like one", () =>
    withContainers({ north: ["Röhrchen-1"] }, async (_, compare) => {
      const listOf = (label: string, encoding: string) => iconv.encode(`label\n${label}\n`, encoding);
      expect((await compare(listOf("Röhrchen-1", "windows-1252"))).status).toBe(0);
      const { status, stderr } = await compare(listOf("Jörgens", "cp850"));
      expect([status, stderr]).toEqual([2, expect.stringContaining("CSV_ENCODING_DOUBTFUL")]);
    }));

  it("compares nothing, with status 2, with a list that is damaged or whose label is unknown", () =>
    withContainers({ north: ["V-1"] }, async (bench, compare) => {
      const compared = async (text: string, ...options: string[]) => {
        const { status, stdout, stderr } = await compare(text, ...options);
        return [status, stdout, stderr.split("\n")[0]];
      };
      expect(await compared("label,x\nV-1\n")).toEqual([2, "", expect.stringContaining("line 2")]);
      expect(await compared("name,x\nV-1,2\n")).toEqual([2, "", expect.stringContaining("--label")]);
      expect(await compared("label\nV-1\n", "--storage", "tank")).toEqual([
        ...[2, ""],
        expect.stringContaining("--storage tank: the list has the column label"),
      ]);
      expect((await bench.cli(["inventory", "nowhere.csv", "--facility", "NORTH"])).status).toBe(2);
      await bench.simulator.close();
      expect((await compared("label\nV-1\n"))[0]).toBe(2);
    }));
});
