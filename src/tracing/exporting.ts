import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";

/** Spans that wait to be sent, at most; those of some hundred orders. */
export const MOST_WAITING = 4_096;

interface DroppedSpans {
  readonly spans: number;
  readonly since: Date;
}

/**
 * An exporter that never fails in the SDK's eyes, which would say so to nobody: what is lost is counted and logged, once when
 * losing begins and once when spans are taken again: with a queue that is half empty, or it would say both for each batch.
 */
export class CountingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #logger: Logger;
  readonly #clock: Pick<Clock, "now">;
  #waiting = 0;
  #lost = 0;
  #lostInAll = 0;
  #since: Date | undefined;

  constructor(inner: SpanExporter, { logger, clock }: { logger: Logger; clock: Pick<Clock, "now"> }) {
    this.#inner = inner;
    this.#logger = logger;
    this.#clock = clock;
  }

  /** What is lost since the collector last took spans; undefined while it does. */
  get dropped(): DroppedSpans | undefined {
    return this.#since && { spans: this.#lost, since: this.#since };
  }

  /** How many spans were lost since the start. */
  get droppedInAll(): number {
    return this.#lostInAll;
  }

  /** Whether there is room for another span, which waits from now on; else it is lost. */
  takeOne(): boolean {
    if (this.#waiting >= MOST_WAITING) {
      this.#lose(1);
      return false;
    }
    this.#waiting += 1;
    return true;
  }

  export(spans: ReadableSpan[], resultCallback: (result: { code: number; error?: Error }) => void): void {
    this.#inner.export(spans, ({ code }) => {
      this.#waiting -= spans.length;
      if (code === SUCCESS) this.#noteTaken();
      else this.#lose(spans.length);
      resultCallback({ code: SUCCESS });
    });
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #lose(count: number): void {
    if (this.#lost === 0)
      this.#logger.warn("the collector takes no traces; spans are dropped until it does, and work goes on");
    this.#since ??= new Date(this.#clock.now());
    this.#lost += count;
    this.#lostInAll += count;
  }

  #noteTaken(): void {
    if (this.#lost === 0 || this.#waiting > MOST_WAITING / 2) return;
    this.#logger.info({ dropped: this.#lost }, "the collector takes traces again");
    this.#lost = 0;
    this.#since = undefined;
  }
}

/** `ExportResultCode.SUCCESS`, which stands in a package that is only loaded where traces are sent. */
const SUCCESS = 0;
