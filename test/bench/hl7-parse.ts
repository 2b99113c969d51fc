import { createRequire } from "node:module";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { parsePath } from "../../src/formats/hl7/path.ts";
import { omlO33 } from "../support/lab-messages.ts";
import type { BenchReport } from "./report.ts";

/** The other parser's surface, as far as this bench uses it. */
interface Peer {
  transform(): void;
  get(path: string): unknown;
}
const PeerMessage = createRequire(import.meta.url)("hl7-standard") as new (text: string) => Peer;

const FIELDS = [
  "MSH-4.1",
  "MSH-9.1",
  "MSH-9.2",
  "MSH-10",
  "PID-3.1",
  "PID-5.1",
  "PID-5.2",
  "PID-7",
  "ORC-1",
  "ORC-2.1",
  "OBR-4.1",
  "SAC-3",
] as const;
const ROUND_MS = 100;
const ROUNDS = 15;

/** Parsing a message and reading 12 of its fields, in turns with hl7-standard, so that both meet the same machine. */
export function benchHl7Parse(): BenchReport {
  const text = omlO33({ number: "P-1", labels: Array.from({ length: 8 }, (_, at) => `V-${at}`) });
  const paths = FIELDS.map(parsePath);
  const ours = () => {
    const message = Hl7Message.parse(text);
    return paths.filter((path) => message.get(path) !== undefined).length;
  };
  const peerPaths = FIELDS.map((field) => field.replace("-", "."));
  const theirs = () => {
    const message = new PeerMessage(text);
    message.transform();
    return peerPaths.filter((path) => message.get(path) !== undefined).length;
  };
  const found = { ours: ours(), theirs: theirs() };
  ratePerSecond(ours);
  ratePerSecond(theirs);
  const pairs = Array.from({ length: ROUNDS }, () => ({
    ours: ratePerSecond(ours),
    theirs: ratePerSecond(theirs),
  }));
  return {
    bench: "hl7-parse",
    title: "a message of 13 segments parsed and 12 fields read, beside hl7-standard",
    figures: [
      { name: "fields found", value: found.ours, unit: "of 12", bound: { atLeast: FIELDS.length } },
      { name: "fields found by hl7-standard", value: found.theirs, unit: "of 12" },
      { name: "messages", value: median(pairs.map((pair) => pair.ours)), unit: "messages/s" },
      { name: "messages, hl7-standard", value: median(pairs.map((pair) => pair.theirs)), unit: "messages/s" },
      {
        name: "ratio",
        value: median(pairs.map((pair) => pair.ours / pair.theirs)),
        unit: "times",
        bound: { atLeast: 2 },
      },
    ],
  };
}

function ratePerSecond(work: () => unknown): number {
  let times = 0;
  const startedAt = performance.now();
  let elapsedMs = 0;
  while (elapsedMs < ROUND_MS) {
    for (let n = 0; n < 20; n++) work();
    times += 20;
    elapsedMs = performance.now() - startedAt;
  }
  return (times * 1_000) / elapsedMs;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
