import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Exchange } from "./openapi-contract.ts";

/** Stands between client and service, passes everything on as it is, and writes down both sides. */
export interface RecordingProxy {
  readonly url: string;
  /** Where calls go; set it before the first one. */
  target: string;
  /** Calls that were answered, in order of their answers. */
  readonly exchanges: readonly Exchange[];
  /** What clients sent, also when no answer came. */
  readonly requests: readonly Exchange[];
  close(): Promise<void>;
}

/** Starts a proxy on a free port of this machine. */
export async function startRecordingProxy(): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const requests: Exchange[] = [];
  const server = createServer((incoming, outgoing) => {
    const body: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => body.push(chunk));
    incoming.on("end", () => {
      const sent: Exchange = {
        method: incoming.method ?? "",
        target: incoming.url ?? "",
        requestHeaders: incoming.headers,
        requestBody: Buffer.concat(body).toString("utf8"),
        status: 0,
        responseHeaders: {},
        responseBody: "",
      };
      requests.push(sent);
      const onward = request(new URL(sent.target, proxy.target), {
        method: sent.method,
        headers: incoming.headers,
      });
      onward.on("response", (response) => {
        const answer: Buffer[] = [];
        response.on("data", (chunk: Buffer) => answer.push(chunk));
        response.on("error", () => outgoing.destroy());
        response.on("end", () => {
          const bytes = Buffer.concat(answer);
          exchanges.push({
            ...sent,
            status: response.statusCode ?? 0,
            responseHeaders: response.headers,
            responseBody: bytes.toString("utf8"),
          });
          outgoing.writeHead(response.statusCode ?? 500, response.headers).end(bytes);
        });
      });
      // A connection that the service cuts is cut on the other side as well.
      onward.on("error", () => outgoing.destroy());
      onward.end(sent.requestBody);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const proxy: RecordingProxy = {
    url: `http://127.0.0.1:${port}`,
    target: "",
    exchanges,
    requests,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close").catch(() => undefined);
    },
  };
  return proxy;
}
