import { spawnSync } from "node:child_process";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Whether there is an engine, with Compose. */
    hasEngine: boolean;
    /** Images that nobody can have here. */
    imagesLeftOut: readonly string[];
  }
}

/** Finds out whether containers can be run. Where they can't, one line says so; in CI that is an error. */
export default function setup(project: TestProject): void {
  const missing = ["version", "compose version"].find(
    (words) => spawnSync("docker", words.split(" "), { stdio: "ignore" }).status !== 0,
  );
  if (missing !== undefined) {
    const words = `No container engine: \`docker ${missing}\` fails, so no test with containers can run.`;
    if (process.env.CRYOBRIDGE_TEST_REQUIRE === "all") throw new Error(words);
    console.log(words);
  }
  const leftOut = (process.env.CRYOBRIDGE_TEST_IMAGES_LEFT_OUT ?? "").split(" ").filter(Boolean);
  if (leftOut.length > 0)
    console.log(`Left out: images that there is no stand-in for: ${leftOut.join(", ")}.`);
  project.provide("hasEngine", missing === undefined);
  project.provide("imagesLeftOut", leftOut);
}
