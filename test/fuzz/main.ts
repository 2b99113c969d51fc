import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { Coverage } from "./coverage.ts";
import { fuzz } from "./fuzz.ts";
import type { Target } from "./target.ts";

const TARGETS = ["hl7", "mllp", "csv", "profile", "service", "written"] as const;

const HELP = `Feeds what reads input of others with changed inputs, and keeps those that reach new places of the sources.

  npm run fuzz -- --target ${TARGETS.join("|")} [--inputs N] [--seed S] [--until-fault]

  --inputs N   how many; 100,000 unless given
  --until-fault  ends at the first fault
  --seed S     another one makes other inputs; 1 unless given

An input that shows a fault is made smaller and printed as JSON; the command then ends with 1. It belongs into found.test.ts.
`;

async function main(): Promise<number> {
  const options = {
    target: { type: "string" },
    inputs: { type: "string" },
    seed: { type: "string" },
    "until-fault": { type: "boolean" },
  } as const;
  const { values } = parseArgs({ options: { ...options, help: { type: "boolean" } } });
  const name = TARGETS.find((each) => each === values.target);
  const [inputs, seed] = [Number(values.inputs ?? 100_000), Number(values.seed ?? 1)];
  if (values.help || name === undefined || !Number.isSafeInteger(inputs) || !Number.isSafeInteger(seed)) {
    process.stdout.write(HELP);
    return values.help ? 0 : 2;
  }
  const coverage = new Coverage();
  coverage.start(resolve(import.meta.dirname, "../../src"));
  const { makeTarget }: { makeTarget: () => Promise<Target> } = await import(`./targets/${name}.ts`);
  const target = await makeTarget();
  let found = 0;
  const say = (done: number, corpus: number) => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1_000_000;
    const { reached, places } = coverage.summary;
    process.stdout.write(
      `${name} seed ${seed}: ${done} inputs, ${Math.round(done / seconds)} a second of processor time; ${corpus} kept, ${reached} of ${places} places reached; ${found} faults\n`,
    );
  };
  const { corpus, findings } = await fuzz(target, {
    inputs,
    seed,
    coverage,
    growOneIn: 1_000,
    onProgress: say,
    mostFindings: values["until-fault"] ? 1 : undefined,
    onFinding: ({ words, input, after }) => {
      found += 1;
      const text = input.toString("utf8");
      const shown = Buffer.from(text).equals(input) ? text : { base64: input.toString("base64") };
      process.stdout.write(`FAULT after ${after} inputs: ${words}\n  ${JSON.stringify(shown)}\n`);
    },
  });
  say(inputs, corpus);
  return findings.length === 0 ? 0 : 1;
}

process.exitCode = await main();
