import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Front } from "./with-child-site.ts";

/** A call that the front has passed on, with the service's answer. */
export interface PassedCall {
  readonly method: string;
  /** With its query, decoded. */
  readonly url: string;
  readonly sent: string;
  readonly authorization: string | undefined;
  readonly status: number;
  readonly body: string;
}

/** What the front answers instead. */
export interface Rewritten {
  readonly status?: number;
  readonly contentType?: string;
  readonly body: string;
}

/** A service in front of the service: every call reaches it, and every answer may be made another one. */
export async function startRewritingFront(
  serviceUrl: string,
  rewrite: (call: PassedCall) => Rewritten | undefined,
): Promise<Front> {
  const server = createServer((request, response) => {
    answer(serviceUrl, rewrite, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  serviceUrl: string,
  rewrite: (call: PassedCall) => Rewritten | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sent = await text(request);
  const { authorization, "content-type": contentType } = request.headers;
  const passed = await fetch(serviceUrl + (request.url ?? ""), {
    method: request.method ?? "GET",
    headers: {
      ...(authorization ? { authorization } : {}),
      ...(contentType ? { "content-type": contentType } : {}),
    },
    ...(sent === "" ? {} : { body: sent }),
  });
  const body = await passed.text();
  const { method = "GET", url = "" } = request;
  const call = { method, url: decodeURIComponent(url), sent, authorization, status: passed.status, body };
  const other = rewrite(call);
  response.writeHead(other?.status ?? passed.status, {
    "content-type": other?.contentType ?? passed.headers.get("content-type") ?? "application/json",
  });
  response.end(other?.body ?? body);
}
