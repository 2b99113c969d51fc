import { defineConfig } from "vitest/config";

/** The tests that need a container engine: `npm run test:containers`. */
export default defineConfig({
  test: {
    include: ["test/containers/**/*.test.ts"],
    globalSetup: ["test/support/global-setup.ts", "test/containers/support/engine.ts"],
    // Building the image and starting a stack are part of a hook.
    testTimeout: 300_000,
    hookTimeout: 600_000,
    pool: "forks",
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // A file's servers are limited to what a machine has, not to what a vitest worker has.
    maxWorkers: 2,
    maxConcurrency: 2,
    reporters: ["verbose"],
  },
});
