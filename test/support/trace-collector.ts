import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A span as OTLP's JSON has it, as far as tests read it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, string | number>>;
  }[];
  readonly status: { readonly code?: number };
}

/** A server that takes OpenTelemetry spans by OTLP over HTTP. */
export interface TraceCollector {
  /** Where spans are posted to. */
  readonly url: string;
  readonly spans: CollectedSpan[];
  /** Everything that was posted, as it came. */
  readonly bodies: string[];
  /** The headers of the latest request. */
  headers: NodeJS.Dict<string | string[]>;
  /** What it answers. */
  status: number;
}

/** Gives a test a collector, and ends it. */
export async function withCollector(test: (collector: TraceCollector) => Promise<void>): Promise<void> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    collector.headers = request.headers;
    if (collector.status === 200) {
      collector.bodies.push(body);
      const { resourceSpans } = JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: CollectedSpan[] }[] }[];
      };
      for (const { scopeSpans } of resourceSpans)
        for (const { spans } of scopeSpans) collector.spans.push(...spans);
    }
    response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  const collector: TraceCollector = { url, spans: [], bodies: [], headers: {}, status: 200 };
  try {
    await test(collector);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
