import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PUBLIC_PATHS } from "../../src/core/service-catalogue.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { type ServiceBench, serviceConfig, withService } from "./with-service.ts";

interface Check {
  readonly subject: string;
  readonly result: string;
  readonly detail: string;
  readonly hint: string | null;
}

/** Checks a service of the public edition by a configuration with these lines in its section `service`. */
async function check(bench: ServiceBench, lines: readonly string[]) {
  await writeFile(join(bench.folder, "c.yaml"), serviceConfig(bench.simulator.url, undefined, lines));
  const { status, stdout } = await bench.cli(["check", "--json"]);
  const { checks } = JSON.parse(stdout) as { checks: Check[] };
  return { status, checks, ofService: checks.filter(({ subject }) => subject.startsWith("service")) };
}

const withPublic = (
  run: (bench: ServiceBench) => Promise<void>,
  behaviour: SimulatorOptions["behaviour"] = {},
) =>
  withService(
    { simulator: { edition: "public", behaviour: { callsPerMinute: "unlimited", ...behaviour } } },
    run,
  );

/** The lines of a configuration that a hint asks for. */
function linesOf(hint: string): string[] {
  const [, surface, paths] =
    /set (service\.surface: external)? ?(?:and )?service\.(paths: \{ .* \})\./.exec(hint) ?? [];
  if (paths === undefined) throw new Error(`no paths in: ${hint}`);
  return [...(surface === undefined ? [] : ["surface: external"]), paths];
}

describe("check of a service of the public edition", () => {
  it("finds out where things lie, and is well with the settings that it names", () =>
    withPublic(async (bench) => {
      const found = await check(bench, []);
      expect(found.status).not.toBe(0);
      const missing = found.ofService.filter(({ detail }) => detail.includes("SERVICE_NOT_FOUND"));
      expect(missing.map(({ subject }) => subject)).toEqual(
        expect.arrayContaining(["service, requests", "service, subjects", "service, storage"]),
      );
      const hints = new Set(missing.flatMap(({ hint }) => hint ?? []));
      const [hint = ""] = hints;
      expect(hints.size).toBe(1);
      expect(hint).toContain("It answers for subjects and storage below /api/v1/external");
      for (const name of Object.keys(PUBLIC_PATHS)) expect(hint).toContain(`${name}: `);

      const set = await check(bench, linesOf(hint));
      expect(set.checks.filter(({ result }) => result !== "ok")).toEqual([]);
      expect(set.status).toBe(0);
    }));

  it("names only what isn't set yet", () =>
    withPublic(async (bench) => {
      const { ofService } = await check(bench, [
        "surface: external",
        `paths: { subjects: ${PUBLIC_PATHS.subjects} }`,
      ]);
      const [storage] = ofService.filter(({ result }) => result !== "ok");
      expect(storage).toMatchObject({ subject: "service, storage", result: "warning" });
      expect(storage?.hint).toMatch(
        /^It answers for storage below .*: set service\.paths: \{ procedureRequests: none/,
      );
    }));

  it("finds it out where a page says that nothing lies there", () =>
    withPublic(
      async (bench) => {
        const { ofService } = await check(bench, []);
        const [service] = ofService.filter(({ result }) => result === "failed");
        expect(service?.subject).toBe("service");
        expect(service?.hint).toContain("It answers for subjects and storage below /api/v1/external");
      },
      { errorBody: "html" },
    ));
});
