import { readdirSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, runCli } from "./run-cli.ts";
import { configText, ENV, hl7Text, PATIENT } from "./with-lab.ts";

const CONFIG = fileURLToPath(new URL("../../config/", import.meta.url));
const SAMPLES = ["--config", join(CONFIG, "samples/cryobridge.yaml")];

const OWN = `extends: builtin/hl7-orders
operation:
  from: OBR-4.4
  table:
    FRZ: STORE
subject:
  code: PID-2.1
`;

/** Runs commands in a folder with a configuration, whose profile `own` is a file, and `other` extends it. */
function withProfiles(
  test: (folder: string, cli: (...argv: string[]) => Promise<CliResult>) => Promise<void>,
): Promise<void> {
  return withFolder(async (folder) => {
    const config = join(folder, "cryobridge.yaml");
    const section = "profiles:\n  other:\n    extends: own\n    results: { timeZone: Europe/Vienna }\n";
    await mkdir(join(folder, "profiles"));
    await writeFile(join(folder, "profiles/own.yaml"), OWN);
    await writeFile(config, configText(undefined, section));
    await test(folder, (...argv) => runCli(["--config", config, ...argv], { env: ENV }));
  });
}

describe("profile show", () => {
  it("has each value of the effective profile with the profile, the file and the line that it comes from", () =>
    withProfiles(async (folder, cli) => {
      const { status, stdout } = await cli("profile", "show", "other");
      expect(status).toBe(0);
      const lines = stdout.split("\n").map((line) => line.replace(/ {2,}#/, " #").replace(`${folder}/`, ""));
      expect(lines).toEqual(
        expect.arrayContaining([
          "# other: cryobridge.yaml",
          "# extends own: profiles/own.yaml",
          "# extends builtin/hl7-orders",
          "  from: OBR-4.4 # profiles/own.yaml:3",
          "  as: trim # builtin/hl7-orders",
          "    CRYO-STORE: STORE # builtin/hl7-orders",
          "    FRZ: STORE # profiles/own.yaml:5",
          "    from: PID-2.1 # profiles/own.yaml:7",
          "    from: [MRG-4.1] # follows subject.code",
        ]),
      );
      expect(stdout).toMatch(/timeZone: Europe\/Vienna +# .*cryobridge\.yaml:\d+$/m);
    }));

  it("is a profile that works as the one that it shows", () =>
    withProfiles(async (folder, cli) => {
      const { definition } = JSON.parse((await cli("profile", "show", "other", "--json")).stdout);
      const { stdout } = await cli("profile", "show", "other");
      expect(parse(stdout)).toEqual(definition);
      await writeFile(join(folder, "profiles/alone.yaml"), stdout);
      const alone = JSON.parse((await cli("profile", "show", "alone", "--json")).stdout);
      expect(alone.definition).toEqual(definition);
    }));

  it("gives programs each value with its source", () =>
    withProfiles(async (folder, cli) => {
      const { chain, values } = JSON.parse((await cli("profile", "show", "own", "--json")).stdout);
      expect(chain).toEqual([
        { name: "own", file: join(folder, "profiles/own.yaml") },
        { name: "builtin/hl7-orders", file: null },
      ]);
      expect(values).toContainEqual({
        path: "operation.table.FRZ",
        value: "STORE",
        profile: "own",
        file: join(folder, "profiles/own.yaml"),
        line: 5,
      });
    }));

  it("shows a built-in profile without any configuration, and names the profiles for a name that is none", () =>
    withProfiles(async (_, cli) => {
      const { stdout } = await runCli(["profile", "show", "builtin/csv-orders"]);
      expect(stdout).toMatch(/^ {2}from: operation +# builtin\/csv-orders$/m);
      const { status, stderr } = await cli("profile", "show", "nobody");
      expect(status).toBe(5);
      expect(stderr).toMatch(
        /no profile is called nobody \(CLI_NOT_FOUND\)\n {2}There are builtin\/hl7-orders, builtin\/csv-orders, other, own\.\n$/,
      );
    }));
});

describe("profile test", () => {
  it("finds the examples as expected, each read as the connector that its folder is named after", async () => {
    const { status, stdout } = await runCli([...SAMPLES, "profile", "test", join(CONFIG, "profile-tests")]);
    expect(stdout).toMatch(
      /✓ .*clinic\/freeze-oml-o21\.hl7\n✓ .*klinik\/two-orders\.csv\n2 files, all as expected\n$/,
    );
    expect(status).toBe(0);
  });

  it.each(readdirSync(join(CONFIG, "labs"), { withFileTypes: true }).filter((entry) => entry.isDirectory()))(
    "finds every file of the example lab $name as expected, and its profile well",
    async ({ name }) => {
      const lab = join(CONFIG, "labs", name);
      const env = { STORAGE_CLIENT_ID: "invented", STORAGE_CLIENT_SECRET: "invented-secret" };
      const config = ["--config", join(lab, "cryobridge.yaml")];
      const tested = await runCli([...config, "profile", "test", join(lab, "profile-tests")], { env });
      expect(tested.stdout.split("\n").filter((line) => line.startsWith("✗"))).toEqual([]);
      expect(tested.status).toBe(0);
      const checked = await runCli([...config, "check", "--offline"], { env });
      // Ports may be in use here, and the certificate of an authority is the lab's to put there.
      expect(checked.stdout).toMatch(/^✓ configuration/m);
      expect(checked.stdout).not.toMatch(/^[✗!] profile/m);
    },
  );

  it("shows with status 1 where an order or an answer differs, and writes what is there now with --update", () =>
    withFolder(async (folder) => {
      await cp(join(CONFIG, "profile-tests/clinic"), join(folder, "clinic"), { recursive: true });
      const file = join(folder, "clinic/freeze-oml-o21.expected.json");
      const before = await readFile(file, "utf8");
      await writeFile(
        file,
        before.replace("SR-7002-1", "SR-7002-9").replace("Frieda", "Frida").replace("MSA|AA", "MSA|AE"),
      );
      const test = (...more: string[]) => runCli([...SAMPLES, "profile", "test", folder, ...more]);
      const { status, stdout } = await test();
      expect(status).toBe(1);
      expect(stdout).toContain(
        `    messages[1].orders[2].containers[1].label\n      expected  "SR-7002-9"\n      found     "SR-7002-1"\n`,
      );
      expect(stdout).toContain(
        "    messages[1].orders[1].subject.firstName\n      expected  ••••\n      found     ••••\n",
      );
      expect(stdout).toMatch(/answer\.lines\[2\]\n +expected +"MSA\|AE\|SR-000601"\n +found +"MSA\|AA/);
      expect(stdout).toContain("1 file, 1 not as expected");
      expect((await test("--show-phi")).stdout).toContain('expected  "Frida"');
      expect((await test("--update")).status).toBe(0);
      expect(await readFile(file, "utf8")).toBe(before);
    }));

  it("fails for a file of which nothing is expected, and for a folder without files", () =>
    withProfiles(async (folder, cli) => {
      const samples = join(folder, "samples");
      await mkdir(samples);
      expect((await cli("profile", "test", samples)).status).toBe(2);
      await writeFile(join(samples, "one.hl7"), hl7Text());
      expect((await cli("profile", "test", samples)).stderr).toContain("--connector samples");
      const missing = await cli("profile", "test", samples, "--connector", "lims");
      expect(missing.status).toBe(1);
      expect(missing.stdout).toContain("there is no one.expected.json beside it");
      expect((await cli("profile", "test", samples, "--connector", "lims", "--update")).status).toBe(0);
      expect(await readFile(join(samples, "one.expected.json"), "utf8")).toContain(PATIENT.lastName);
      await writeFile(join(samples, "one.txt"), "");
      expect((await cli("profile", "test", samples, "--connector", "lims")).status).toBe(2);
    }));
});
