import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { createLogger } from "../../src/core/logger.ts";
import { CountingExporter, MOST_WAITING } from "../../src/tracing/exporting.ts";

const BATCH = 512;

test("a queue that stays full costs one line in the log, and another once it is half empty", () => {
  const lines: { readonly msg: string; readonly dropped?: number }[] = [];
  const stream = { write: (text: string) => void lines.push(JSON.parse(text)) };
  const taking: SpanExporter = {
    export: (_spans, done) => done({ code: 0 }),
    shutdown: async () => {},
  };
  const logger = createLogger({ level: "info" }, stream);
  const exporter = new CountingExporter(taking, { logger, clock: systemClock });
  const send = () => exporter.export(Array<ReadableSpan>(BATCH), () => {});
  const comeIn = (count: number) => {
    for (let each = 0; each < count; each += 1) exporter.takeOne();
  };
  comeIn(MOST_WAITING + 1);
  for (let round = 0; round < 3; round += 1) {
    send();
    comeIn(BATCH + 1);
  }
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining("takes no traces")]);
  expect(exporter.dropped).toMatchObject({ spans: 4 });
  for (let left = MOST_WAITING; left > MOST_WAITING / 2; left -= BATCH) {
    expect(lines).toHaveLength(1);
    send();
  }
  expect(lines[1]).toMatchObject({ msg: "the collector takes traces again", dropped: 4 });
  expect([exporter.dropped, exporter.droppedInAll]).toEqual([undefined, 4]);
});
