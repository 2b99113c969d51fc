import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { z } from "zod";
import type { Config } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import { type ConfigProblem, isConfigFailure } from "../../src/config/problems.ts";

/** What the tests take for a mapping profile. */
export const profileSchema = z.strictObject({
  extends: z.string().optional(),
  operation: z.strictObject({ from: z.string() }).optional(),
});
export type TestProfile = z.output<typeof profileSchema>;

/** The smallest configuration that is valid; tests add to it or break it. */
export const SERVICE = `service:
  baseUrl: https://storage.example.org
  auth: { apiToken: "\${API_TOKEN}" }
`;
export const FACILITIES = `facilities: { NORTH: 12 }
`;
export const CONNECTORS = `connectors:
  - { name: lims, type: hl7-drop, directory: ./lims }
`;
export const MINIMAL = SERVICE + FACILITIES + CONNECTORS;
export const ENV = { API_TOKEN: "token-of-the-test" };

/** A folder with a configuration file in it, for the time of one test. */
export class ConfigFolder implements Disposable {
  readonly directory = realpathSync(mkdtempSync(path.join(tmpdir(), "config-")));

  /** Writes a file, making its folder, and gives its path. */
  write(name: string, content: string | Buffer): string {
    const file = this.path(name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  }

  path(...names: string[]): string {
    return path.join(this.directory, ...names);
  }

  load(text: string | Buffer, env: Record<string, string> = ENV): Config<TestProfile> {
    return loadConfig(this.write("cryobridge.yaml", text), { env, profileSchema });
  }

  /** The mistakes in a configuration; fails when there are none. */
  problems(text: string | Buffer, env: Record<string, string> = ENV): readonly ConfigProblem[] {
    try {
      this.load(text, env);
    } catch (error) {
      if (isConfigFailure(error)) return error.problems;
      throw error;
    }
    throw new Error("the configuration was accepted");
  }

  /** The mistakes as `line:column path: message`. */
  mistakes(text: string | Buffer, env: Record<string, string> = ENV): string[] {
    return this.problems(text, env).map(
      ({ line, column, path: at, message }) => `${line}:${column} ${at}: ${message}`,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
