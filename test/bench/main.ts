/**
 * `npm run bench [name…] [--json]`: measures, prints the figures, and ends with status 1 when one breaks its bound.
 * BENCH_CSV_MB sets the size of the large CSV file, BENCH_ORDERS the number of orders of the main job, BENCH_SUBMIT of those that
 * are only submitted, BENCH_CALLS of those of each kind whose calls are counted, BENCH_CLUSTER of those that several daemons submit,
 * BENCH_SCALE of those that have ended in a large ledger. `day` runs only when it is named, and takes BENCH_DAY minutes.
 */
import { type BenchReport, formatReport, isKept } from "./report.ts";

const SUBMIT = Number(process.env.BENCH_SUBMIT ?? 3_000);

/** Each is loaded when it runs: what one of them loads must not slow another down. */
const BENCHES: Readonly<Record<string, () => Promise<BenchReport>>> = {
  hl7: async () => (await import("./hl7.ts")).benchHl7(),
  "hl7-files": async () => (await import("./hl7-files.ts")).benchHl7Files(),
  mllp: async () => (await import("./mllp.ts")).benchMllp(),
  csv: async () => (await import("./csv.ts")).benchCsv(Number(process.env.BENCH_CSV_MB ?? 60)),
  submit: async () => (await import("./submit.ts")).benchSubmit(SUBMIT),
  track: async () => (await import("./track.ts")).benchTrack(Number(process.env.BENCH_TRACK ?? 100_000)),
  cluster: async () =>
    (await import("./cluster.ts")).benchCluster(Number(process.env.BENCH_CLUSTER ?? 3_000)),
  scale: async () => (await import("./scale.ts")).benchScale(Number(process.env.BENCH_SCALE ?? 1_000_000)),
  calls: async () => (await import("./calls.ts")).benchCalls(Number(process.env.BENCH_CALLS ?? 100)),
  orders: async () =>
    (await import("./orders.ts")).benchOrders(Number(process.env.BENCH_ORDERS ?? 10_000), SUBMIT),
  day: async () => (await import("./day.ts")).benchDay(Number(process.env.BENCH_DAY ?? 120)),
};

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const isJson = args.includes("--json");
  const wanted = args.filter((arg) => !arg.startsWith("--"));
  const unknown = wanted.filter((name) => !(name in BENCHES));
  if (unknown.length > 0) {
    console.error(`no bench ${unknown.join(", ")}; there are ${Object.keys(BENCHES).join(", ")}`);
    return 2;
  }
  const reports: BenchReport[] = [];
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (wanted.length > 0 ? !wanted.includes(name) : name === "day") continue;
    const report = await bench();
    reports.push(report);
    if (!isJson) console.log(`${formatReport(report)}\n`);
  }
  if (isJson) console.log(JSON.stringify(reports, undefined, 2));
  return reports.every(({ figures }) => figures.every(isKept)) ? 0 : 1;
}
