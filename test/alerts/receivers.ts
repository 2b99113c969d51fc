import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { AlertNews } from "../../src/core/alert.ts";

/** A webhook's receiver: what came with a signature of this secret, and what came with another one. */
export interface Receiver {
  readonly url: string;
  readonly taken: { readonly news: AlertNews; readonly headers: IncomingHttpHeaders }[];
  readonly forged: string[];
  /** What it answers from now on. */
  answer: { status: number; location?: string };
}

/** Gives a test a receiver that checks signatures as the guide says. */
export async function withReceiver<T>(secret: string, test: (receiver: Receiver) => Promise<T>): Promise<T> {
  const taken: Receiver["taken"] = [];
  const forged: string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString();
    const [, seconds = "", digest = ""] =
      /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(request.headers["cryobridge-signature"])) ?? [];
    const wanted = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
    const isNow = Math.abs(Date.now() / 1_000 - Number(seconds)) < 300;
    const { status, location } = receiver.answer;
    if (digest !== wanted || !isNow) forged.push(body);
    else if (status < 300) taken.push({ news: JSON.parse(body), headers: request.headers });
    response.writeHead(status, location === undefined ? {} : { location }).end("thanks");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = { url: `http://127.0.0.1:${port}/`, taken, forged, answer: { status: 204 } };
  try {
    return await test(receiver);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Gives a test a mail server, and the messages that it took. */
export async function withMailServer<T>(
  test: (server: { readonly port: number; readonly mails: string[] }) => Promise<T>,
  options: SMTPServerOptions = {},
): Promise<T> {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    logger: false,
    onData: async (stream, _, done) => {
      mails.push((await buffer(stream)).toString());
      done();
    },
    ...options,
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  try {
    return await test({ port, mails });
  } finally {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}
