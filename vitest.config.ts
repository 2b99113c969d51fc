import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { Progress } from "./test/support/progress.ts";

/** Folders whose files take the longest, the longest first. */
const SLOW = ["cluster", "integration", "e2e", "contract", "jobs", "ledger", "bin", "connectors", "cli"];

/** Begins with the slow files, so that no worker is left alone with one at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const [folder = ""] = relative(`${import.meta.dirname}/test`, moduleId).split("/");
      return (SLOW.indexOf(folder) + SLOW.length + 1) % (SLOW.length + 1);
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // These have commands of their own: npm run test:chaos, npm run test:containers.
    exclude: ["test/chaos/**", "test/containers/**", "node_modules/**"],
    globalSetup: ["test/support/global-setup.ts"],
    setupFiles: ["test/support/property-seed.ts"],
    // Tests start real servers; the limits are for hangs, not for speed, and no test has a nearer one of its own.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "forks",
    // Nothing is global, so files share their worker's modules, which Node.js loads as the program's: half of the run was
    // spent on starting a process for each file and on loading the sources there.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: SlowFirst },
    // For people a line that says how far it is; what .ci/run keeps names every file.
    reporters: process.env.CI ? ["default"] : ["minimal", new Progress()],
    // Most tests wait for servers and files, so four files run at once even on two cores, which they keep busy. Each of the
    // concurrent tests of a file may run a whole site with some twenty connections to the run's server, which takes 500.
    maxWorkers: 4,
    maxConcurrency: 2,
  },
});
