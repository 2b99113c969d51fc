import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Context, Span, Tracer } from "@opentelemetry/api";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/clock.ts";
import { asFailure } from "../core/failures.ts";
import type { MessageVerdict } from "../core/intake.ts";
import type { Logger } from "../core/logger.ts";
import { isTerminal } from "../core/order-state.ts";
import {
  type OrderName,
  type OrderStep,
  type OrderTracer,
  type SentResult,
  type TraceIds,
  traceOf,
} from "../core/order-step.ts";
import { within } from "../core/within.ts";
import { CountingExporter, MOST_WAITING } from "./exporting.ts";

/** Where traces go, and which; its headers are revealed. */
type TracingSettings = Omit<NonNullable<Config["tracing"]>, "headers"> & {
  readonly headers: Readonly<Record<string, string>>;
};

interface TracingDeps {
  /** The ledger's. */
  readonly instanceCode: string;
  readonly workerName: string;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The traces of orders, made of what a daemon does. Nothing in them is about a patient. A step's span spans the stage that it
 * ended; that of the whole order comes last.
 */
export interface Tracing extends OrderTracer {
  messagesTaken(taken: {
    readonly connector: string;
    readonly verdicts: readonly MessageVerdict[];
    readonly ms: number;
  }): void;
  ordersMoved(steps: readonly OrderStep[]): void;
  resultsSent(results: readonly SentResult[]): void;
  serviceCalled(call: { readonly route: string; readonly outcome: string; readonly ms: number }): void;
  /** What the collector did not take, as {@link CountingExporter} has it. */
  readonly losses: Pick<CountingExporter, "dropped" | "droppedInAll">;
  /** Sends what is left, for this long at most. */
  close(withinMs: number): Promise<void>;
}

/** A collector that takes longer for a request has failed, ms. */
const EXPORT_TIMEOUT_MS = 5_000;
const GATHER_MS = 1_000;
/** The status code of a span whose work failed, as the API has it. */
const ERROR = 2;
/** The kind of a span that is a call to another program. */
const CLIENT = 2;

/** Begins to send traces. Only here are OpenTelemetry's packages loaded: without the setting they cost nothing. */
export async function openTracing(settings: TracingSettings, deps: TracingDeps): Promise<Tracing> {
  const [api, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  const { endpoint: url, headers, serviceName, sampleRatio } = settings;
  const { clock } = deps;
  const exporter = new CountingExporter(
    new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_TIMEOUT_MS }),
    deps,
  );
  const random = new sdk.RandomIdGenerator();
  let root: TraceIds | undefined;
  const provider = new sdk.TracerProvider({
    sampler: new sdk.AlwaysOnSampler(),
    idGenerator: {
      generateTraceId: () => root?.traceId ?? random.generateTraceId(),
      generateSpanId: () => root?.rootSpanId ?? random.generateSpanId(),
    },
    resource: resourceFromAttributes({
      "service.name": serviceName,
      "service.version": deps.version,
      "service.instance.id": deps.workerName,
    }),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter,
        maxQueueSize: MOST_WAITING,
        scheduledDelayMillis: GATHER_MS,
        exportTimeoutMillis: 2 * EXPORT_TIMEOUT_MS,
      }),
    ],
  });
  const tracer: Tracer = provider.getTracer("cryobridge", deps.version);
  const working = new AsyncLocalStorage<Context>();

  /** The context by which spans hang below an order's; undefined for an order that is not sampled. */
  const contextOf = (orderId: number): Context | undefined => {
    const { traceId, rootSpanId: spanId } = traceOf(deps.instanceCode, orderId);
    if (Number.parseInt(traceId.slice(0, 8), 16) >= sampleRatio * 2 ** 32) return undefined;
    return api.trace.setSpanContext(api.ROOT_CONTEXT, {
      ...{ traceId, spanId, traceFlags: api.TraceFlags.SAMPLED, isRemote: true },
    });
  };
  /** A span of what is over: {@link Took} says when it ended and how long it took. */
  const record = (
    name: string,
    { tookMs, endedMs = 0, failureCode }: Took,
    attributes: Attributes,
    context: Context | undefined,
  ): void => {
    if (!context || !exporter.takeOne()) return;
    const endTime = clock.now() - endedMs;
    const options = { startTime: endTime - Math.max(0, tookMs), attributes };
    const span = tracer.startSpan(name, options, context);
    if (failureCode !== undefined) fail(span, failureCode);
    span.end(endTime);
  };
  const recordWhole = (step: OrderStep): void => {
    const context = contextOf(step.orderId);
    if (!context) return;
    const took = { ...step, tookMs: step.ageSeconds * 1_000 };
    const attributes = { ...attributesOf(step), "cryobridge.state": step.to ?? "" };
    // It may be retried, and the span by which all others hang must be there once.
    if (step.to === "failed") {
      record("order", took, attributes, context);
      return;
    }
    root = traceOf(deps.instanceCode, step.orderId);
    try {
      record("order", took, attributes, api.ROOT_CONTEXT);
    } finally {
      root = undefined;
    }
  };

  return {
    during: async (name, order, work) => {
      const context = contextOf(order.orderId);
      if (!context || !exporter.takeOne()) return work();
      const attributes = { ...attributesOf(order), "cryobridge.attempt": order.attempt };
      const options = { attributes, startTime: clock.now() };
      const span = tracer.startSpan(name, options, context);
      try {
        return await working.run(api.trace.setSpan(context, span), work);
      } catch (error) {
        fail(span, asFailure(error).code);
        throw error;
      } finally {
        span.end(clock.now());
      }
    },
    messagesTaken: ({ connector, verdicts, ms: tookMs }) => {
      for (const { verdict, orders } of verdicts) {
        if (verdict !== "accepted") continue;
        for (const { orderId, operation } of orders) {
          const attributes = {
            ...{ "cryobridge.order": orderId, "cryobridge.connector": connector },
            "cryobridge.operation": operation,
          };
          record("message taken", { tookMs }, attributes, contextOf(Number(orderId.slice(1))));
        }
      }
    },
    ordersMoved: (steps) => {
      for (const step of steps) {
        const { stage, kind, to, failureCode, orderId } = step;
        if (stage) {
          const attributes = {
            ...attributesOf(step),
            ...{ "cryobridge.stage": stage.name, "cryobridge.state": to ?? "" },
          };
          const name = kind.replaceAll("_", " ");
          record(name, { tookMs: stage.seconds * 1_000, failureCode }, attributes, contextOf(orderId));
        }
        if (to !== undefined && isTerminal(to)) recordWhole(step);
      }
    },
    resultsSent: (results) => {
      for (const { deliveryId, connector, orderIds, seconds, sendingSeconds } of results) {
        const attributes = {
          ...{ "cryobridge.delivery": `d${deliveryId}`, "cryobridge.connector": connector },
        };
        const endedMs = sendingSeconds * 1_000;
        const composed = { tookMs: (seconds - sendingSeconds) * 1_000, endedMs };
        for (const orderId of orderIds) {
          record("result composed", composed, attributes, contextOf(orderId));
          record("result delivered", { tookMs: endedMs }, attributes, contextOf(orderId));
        }
      }
    },
    serviceCalled: ({ route, outcome, ms: tookMs }) => {
      const context = working.getStore();
      if (!context || !exporter.takeOne()) return;
      const [method = "", path = ""] = route.split(" ");
      const endTime = clock.now();
      const span = tracer.startSpan(
        route,
        {
          kind: CLIENT,
          startTime: endTime - tookMs,
          attributes: { "http.request.method": method, "url.template": path },
        },
        context,
      );
      const status = Number(outcome);
      if (Number.isInteger(status)) span.setAttribute("http.response.status_code", status);
      if (!(status < 400)) fail(span, outcome);
      span.end(endTime);
    },
    losses: exporter,
    close: async (withinMs) => {
      await within(
        provider.shutdown().catch(() => undefined),
        withinMs,
        clock,
      );
    },
  };
}

/** How long something took, ms, and how long ago it ended. */
interface Took {
  readonly tookMs: number;
  readonly endedMs?: number;
  readonly failureCode?: string | undefined;
}

function attributesOf({ orderId, connector, operation, facilityCode }: OrderName): Attributes {
  return {
    "cryobridge.order": `o${orderId}`,
    "cryobridge.connector": connector,
    "cryobridge.operation": operation,
    "cryobridge.facility": facilityCode,
  };
}

function fail(span: Span, code: string): void {
  span.setStatus({ code: ERROR });
  span.setAttribute("error.type", code);
}
