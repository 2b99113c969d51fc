import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";

/** An HTTP proxy that lets everything through to where it says, until a test says otherwise. */
export interface TestProxy {
  readonly url: URL;
  /** The CONNECT requests that came: target and credentials. */
  readonly asked: { readonly target: string; readonly authorization: string | undefined }[];
  /** Other requests than CONNECT, which nobody should make. */
  readonly plain: string[];
  /** What it does with the next ones: answers with a status, says nothing, answers with garbage, or hangs up. */
  does: "connect" | "nothing" | "garbage" | "hang up" | number;
}

/** Runs a test with a proxy on a free port of this machine, which wants TLS where a certificate is given. */
export async function withProxy<T>(
  test: (proxy: TestProxy) => Promise<T>,
  pair?: { readonly cert: string; readonly key: string },
): Promise<T> {
  const sockets = new Set<Socket>();
  const plain: string[] = [];
  const asked: TestProxy["asked"] = [];
  const answer: RequestListener = (request, response) => {
    plain.push(request.url ?? "");
    response.end("{}");
  };
  const server = pair === undefined ? createServer(answer) : createSecureServer(pair, answer);
  server.on("connection", (socket) => sockets.add(socket));
  server.on("connect", ({ url = "", headers }, client: Socket) => {
    asked.push({ target: url, authorization: headers["proxy-authorization"] });
    client.on("error", () => undefined);
    const { does } = proxy;
    if (does === "hang up") client.destroy();
    else if (does === "garbage") client.end("SSH-2.0-OpenSSH_9.9\r\n");
    else if (typeof does === "number") client.end(`HTTP/1.1 ${does} No\r\ncontent-length: 4\r\n\r\nno!\n`);
    if (does !== "connect") return;
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ""), () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    sockets.add(upstream);
    upstream.on("error", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`${pair === undefined ? "http" : "https"}://127.0.0.1:${port}`);
  const proxy: TestProxy = { url, asked, plain, does: "connect" };
  try {
    return await test(proxy);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
