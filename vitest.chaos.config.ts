import { defineConfig } from "vitest/config";

/** The long forms: `npm run test:chaos`; see test/chaos/settings.ts for what the environment may set. */
export default defineConfig({
  test: {
    include: ["test/chaos/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts"],
    // Kills are timed by the seed; several runs at once would only slow each other down.
    fileParallelism: false,
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    pool: "forks",
    reporters: ["verbose"],
  },
});
