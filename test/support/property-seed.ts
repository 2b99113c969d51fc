import fc from "fast-check";
import "./place-words.ts";

const { CRYOBRIDGE_TEST_SEED: seed = "1" } = process.env;

// Property tests draw the same values in each run, so that one fails for what was changed. `random` draws others.
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });
