import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PUBLIC_PATHS } from "../../src/core/service-catalogue.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { serviceConfig, withService } from "./with-service.ts";

interface Check {
  readonly subject: string;
  readonly result: string;
  readonly detail: string;
  readonly hint: string | null;
}

/** Checks a service of the public edition by a configuration with these lines in its section `service`. */
async function check(lines: readonly string[], behaviour: SimulatorOptions["behaviour"] = {}) {
  let checks: Check[] = [];
  const simulator = { edition: "public", behaviour: { callsPerMinute: "unlimited", ...behaviour } } as const;
  await withService({ simulator }, async (bench) => {
    await writeFile(join(bench.folder, "c.yaml"), serviceConfig(bench.simulator.url, undefined, lines));
    checks = JSON.parse((await bench.cli(["check", "--json"])).stdout).checks;
  });
  return checks;
}

const LEADS_THERE = expect.stringContaining("as config/labs/public-edition has them");

it("leads to the settings of the public edition where lists are not found", async () => {
  const checks = await check([]);
  const missing = checks.filter(({ result, detail }) => result !== "ok" && detail.includes("NOT_FOUND"));
  expect(missing.map(({ subject }) => subject)).toContain("service, requests");
  for (const { hint } of missing) expect(hint).toEqual(LEADS_THERE);
});

it("leads there where a page says that nothing lies there", async () => {
  const [service] = (await check([], { errorBody: "html" })).filter(({ result }) => result === "failed");
  expect(service).toMatchObject({ subject: "service", hint: LEADS_THERE });
});

it("is well with those settings", async () => {
  const paths = Object.entries(PUBLIC_PATHS).map(([name, path]) => `${name}: "${path}"`);
  const checks = await check(["surface: external", `paths: { ${paths.join(", ")} }`]);
  expect(checks.filter(({ result }) => result !== "ok")).toEqual([]);
});
