import { expect, test } from "vitest";
import { runWithKills } from "../chaos/run-with-kills.ts";
import { ALL_WELL } from "../support/account.ts";

const SEED = 20_261_122;

test("a daemon on the external surface that is killed three times submits each of fifteen orders once and tells the lab", async () => {
  const report = await runWithKills({
    seed: SEED,
    orders: 15,
    kills: 3,
    endWithinMs: 90_000,
    surface: "external",
  });
  // A retrieval's containers are shown there, so none waits for a person.
  expect(report).toMatchObject({ account: ALL_WELL, requests: 15, uncertain: 0 });
});
