import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Tests start real servers; the limits are for hangs, not for speed.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
  },
});
