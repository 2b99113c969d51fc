import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import type { Settings } from "../../../src/app/configuration.ts";
import { compileProfiles } from "../../../src/app/profiles.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { profileSchema } from "../../../src/mapping/profile/schema.ts";
import { CONNECTOR } from "../lab.ts";
import type { Plan } from "../plan.ts";

/** The service is looked at for a lost call until then, ms. */
export const GIVE_UP_MS = 12_000;
export const TIMEOUT_MS = 2_000;

/** The configurations of daemons, each read once. */
export class SettingsOfPlans {
  readonly #folder = mkdtempSync(join(tmpdir(), "simulation-"));
  readonly #settings = new Map<string, Settings>();

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async of({ surface, service, correlation }: Plan): Promise<Settings> {
    const key = `${surface} ${correlation} ${service.hasCancel}`;
    const known = this.#settings.get(key);
    if (known) return known;
    const file = join(this.#folder, `${this.#settings.size}.yaml`);
    const path =
      surface === "request"
        ? "/api/procedure-requests/{id}/cancel"
        : "/api/v1/external/procedures/{id}/cancel";
    const given = {
      dataDir: join(this.#folder, "data"),
      service: {
        baseUrl: "https://service.example.org",
        ...{ surface, correlation },
        auth: {
          tokenUrl: "https://service.example.org/oauth/token",
          clientId: "lab",
          clientSecret: "secret",
        },
        timeout: `${TIMEOUT_MS}ms`,
        maxRequestsPerSecond: 1_000,
        polling: { first: "3s", max: "10s", factor: 1.5 },
        reconcile: { checks: ["1s", "4s"], giveUpAfter: `${GIVE_UP_MS}ms`, recheck: "20s" },
        ...(service.hasCancel && { cancel: { method: "POST", path } }),
      },
      facilities: { NORTH: 12 },
      connectors: [{ name: CONNECTOR, type: "mllp", results: { host: "127.0.0.1", port: 2600 } }],
      database: { url: "postgres://nobody:nothing@127.0.0.1:1/none" },
    };
    writeFileSync(file, stringify(given), { mode: 0o600 });
    const config = loadConfig(file, { profileSchema, env: {} });
    const settings = { config, profiles: await compileProfiles(config) };
    this.#settings.set(key, settings);
    return settings;
  }
}
