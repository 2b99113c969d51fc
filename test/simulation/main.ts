import { parseArgs } from "node:util";
import { runSeeds } from "./run.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    kept: { type: "boolean", default: false },
    story: { type: "boolean", default: false },
    "until-failure": { type: "boolean", default: false },
    shrinks: { type: "string", default: "100" },
    processes: { type: "string" },
  },
});
process.exitCode = await runSeeds({
  from: Number(values.from),
  seeds: Number(values.seeds),
  processes: values.processes === undefined ? undefined : Number(values.processes),
  hasKept: values.kept,
  isTold: values.story,
  isUntilFailure: values["until-failure"],
  shrinks: Number(values.shrinks),
});
