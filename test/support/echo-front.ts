import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Front } from "./with-child-site.ts";

/** How the front answers a call that holds its mark, quoting all that was sent. */
export interface Echo {
  readonly mark: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly status: number;
  readonly contentType: "application/json" | "text/html";
  /** The answer's text. */
  readonly body: (sent: string) => string;
}

/**
 * A gateway of the worst kind: it passes calls on to the service, but answers those with a mark in their URL or body
 * itself, and quotes in its answer whatever it was sent.
 */
export async function startEchoFront(serviceUrl: string, echoes: readonly Echo[]): Promise<Front> {
  const server = createServer((request, response) => {
    answer(serviceUrl, echoes, request, response).catch(() => response.destroy());
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
  echoes: readonly Echo[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const sent = await text(request);
  const url = decodeURIComponent(request.url ?? "");
  const echo = echoes.find(
    ({ mark, method, path }) =>
      request.method === method && url.startsWith(path) && `${url} ${sent}`.includes(mark),
  );
  if (echo) {
    response.writeHead(echo.status, { "content-type": echo.contentType });
    response.end(echo.body(`${url} ${sent}`));
    return;
  }
  const { authorization, "content-type": contentType } = request.headers;
  const passed = await fetch(serviceUrl + (request.url ?? ""), {
    method: request.method ?? "GET",
    headers: {
      ...(authorization ? { authorization } : {}),
      ...(contentType ? { "content-type": contentType } : {}),
    },
    ...(sent === "" ? {} : { body: sent }),
  });
  response.writeHead(passed.status, {
    "content-type": passed.headers.get("content-type") ?? "application/json",
  });
  response.end(await passed.text());
}
