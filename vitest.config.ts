import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // The long forms have a command of their own: npm run test:chaos.
    exclude: ["test/chaos/**", "node_modules/**"],
    globalSetup: ["test/support/global-setup.ts"],
    // Tests start real servers; the limits are for hangs, not for speed.
    testTimeout: 180_000,
    hookTimeout: 120_000,
    pool: "forks",
    // Most tests wait for servers and files, so three files run at once even on two cores, which they keep busy; more would
    // only slow each other down, since each of the concurrent tests of a file may run a whole site.
    maxWorkers: 3,
    maxConcurrency: 3,
  },
});
