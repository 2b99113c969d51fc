import { OURS, PEERS, type Place } from "./hl7-peers.ts";
import { largeResult, orderOfOneKilobyte, orderWithTenContainers } from "./hl7-texts.ts";
import type { BenchReport, Figure } from "./report.ts";

/** What an intake looks at in any order. */
const PLACES: readonly Place[] = [
  { segment: "MSH", field: 4, component: 1 },
  { segment: "MSH", field: 9, component: 1 },
  { segment: "MSH", field: 9, component: 2 },
  { segment: "MSH", field: 10, component: 1 },
  { segment: "PID", field: 3, component: 1 },
  { segment: "PID", field: 5, component: 1 },
  { segment: "PID", field: 5, component: 2 },
  { segment: "PID", field: 7, component: 1 },
  { segment: "ORC", field: 1, component: 1 },
  { segment: "ORC", field: 2, component: 1 },
  { segment: "OBR", field: 4, component: 1 },
  { segment: "OBR", field: 4, component: 2 },
];

interface Workload {
  readonly name: string;
  readonly text: string;
  readonly rounds: number;
}

const ROUND_MS = 100;

/**
 * A message is parsed, 12 of its fields are read, and it is written again: by this engine and by its peers, in turns, so
 * that all meet the same machine. The floor is one loop over the characters that notes where each delimiter stands,
 * which is the least that an engine does that knows all offsets.
 */
export function benchHl7(): BenchReport {
  const workloads: readonly Workload[] = [
    { name: "1 KB order", text: orderOfOneKilobyte(), rounds: 15 },
    { name: "3 KB order, ten containers", text: orderWithTenContainers(), rounds: 15 },
    { name: "1 MB message", text: largeResult(), rounds: 5 },
  ];
  return {
    bench: "hl7",
    title: "a message parsed, 12 of its fields read, and written again",
    figures: workloads.flatMap(measure),
  };
}

function measure({ name, text, rounds }: Workload): Figure[] {
  const engines = [OURS, ...PEERS].map(({ name: engine, prepare }) => ({ engine, work: prepare(PLACES) }));
  const results = engines.map(({ engine, work }) => ({ engine, ...work(text) }));
  const works = [
    ...engines.map(
      ({ work }) =>
        () =>
          work(text),
    ),
    () => noteOffsets(text),
  ];
  for (const work of works) ratePerSecond(work);
  const turns = Array.from({ length: rounds }, () => works.map(ratePerSecond));
  const rates = works.map((_, n) => median(turns.map((turn) => turn[n] ?? 0)));
  const [ours = 0, ...others] = rates;
  const floor = others.pop() ?? 0;
  return [
    { name: `${name}, size`, value: text.length, unit: "bytes" },
    ...results.map(({ engine, found }, n) => ({
      name: `${name}, ${engine}`,
      value: rates[n] ?? 0,
      unit: found === PLACES.length ? "messages/s" : `messages/s, ${found} of ${PLACES.length} fields found`,
    })),
    { name: `${name}, floor`, value: floor, unit: "messages/s" },
    {
      name: `${name}, against the best peer`,
      value: ours / Math.max(...others),
      unit: "times",
    },
    { name: `${name}, against the floor`, value: ours / floor, unit: "times" },
    {
      name: `${name}, written byte-identical by`,
      value: results.filter((result) => result.text === text).length,
      unit: `of ${results.length} (${namesOf(results.filter((result) => result.text === text))})`,
    },
  ];
}

const namesOf = (engines: readonly { readonly engine: string }[]) =>
  engines.map(({ engine }) => engine).join(", ");

/** Offsets of all delimiters and line ends, as in `MSH|^~\&`. */
function noteOffsets(text: string): number {
  const offsets: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x7c || code === 0x0d || code === 0x5e || code === 0x26 || code === 0x7e) offsets.push(at);
  }
  return offsets.length;
}

/** Per second of processor time, so that whatever else the machine does takes no part. */
function ratePerSecond(work: () => unknown): number {
  let times = 0;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  while (performance.now() - startedAt < ROUND_MS) {
    work();
    times += 1;
  }
  const { user, system } = process.cpuUsage(before);
  return (times * 1e6) / (user + system);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
