import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Tests start real servers; the limits are for hangs, not for speed.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Each of the concurrent tests of a file may run a whole site.
    maxConcurrency: 3,
    pool: "forks",
  },
});
