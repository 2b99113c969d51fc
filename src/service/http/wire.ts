import type { IncomingHttpHeaders } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync, type ZlibOptions } from "node:zlib";
import { Agent, buildConnector, type Dispatcher, errors } from "undici";
import { codeOf } from "../../core/failures.ts";
import type { PeerCertificates } from "../../core/peer-certificates.ts";
import { type TlsSettings, tlsTroubleOf } from "../../core/tls-trouble.ts";
import { type AnswerHeaders, readHeaders } from "./answer.ts";
import { ProxyFailure, type ProxySettings, throughProxy } from "./proxy.ts";

/** One HTTP exchange as it is put on the wire. */
interface WireRequest {
  readonly method: Method;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Whether the answer is whole with its headers, and comes without its body. */
  readonly isBodyLeft?: boolean | undefined;
}

/**
 * What came of an exchange, as data for the classification.
 * `isSent` is false only when not one byte of the request can have left: the connection was never made.
 */
export type WireResult =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: AnswerHeaders;
      /** Unpacked, where the answer said that it was packed and with what. */
      readonly body: Buffer;
    }
  | {
      readonly kind: "broken";
      readonly isSent: boolean;
      readonly why: "stopped" | "timeout" | "too_large" | "network";
      readonly error: Error;
    };

/** The connections to one service. */
export interface Wire {
  exchange(request: WireRequest, signal: AbortSignal): Promise<WireResult>;
  close(): Promise<void>;
}

interface WireSettings {
  readonly timeoutMs: number;
  readonly concurrency: number;
  readonly maxBodyBytes: number;
  /** PEM certificates to trust instead of the public authorities. */
  readonly ca?: string | undefined;
  /** Directly when absent. */
  readonly proxy?: ProxySettings | undefined;
}

/** Connects as undici does, through the proxy where there is one, and has the service's certificate noted. */
function connector(
  { timeoutMs, ca, proxy }: WireSettings,
  certificates: PeerCertificates | undefined,
): buildConnector.connector {
  const timeout = Math.min(timeoutMs, 10_000);
  const directly = buildConnector({ allowH2: false, timeout, ...(ca === undefined ? {} : { ca }) });
  const connect = proxy === undefined ? directly : throughProxy(directly, proxy, { timeoutMs: timeout, ca });
  return (target, callback) =>
    connect(target, (...result) => {
      certificates?.noteCalled(target.hostname, result[1]);
      callback(...result);
    });
}

/**
 * Opens the connections: HTTP/1.1 only, since undici repeats a POST by itself on an HTTP/2 REFUSED_STREAM; no
 * retries, no redirects, no pipelining; the whole exchange has one deadline.
 */
export function createWire(settings: WireSettings, certificates?: PeerCertificates): Wire {
  const { timeoutMs, maxBodyBytes } = settings;
  const agent = new Agent({
    allowH2: false,
    pipelining: 1,
    connections: settings.concurrency,
    connect: connector(settings, certificates),
    // Our own deadline rules; these only make sure that undici lets go as well.
    headersTimeout: timeoutMs + 1_000,
    bodyTimeout: timeoutMs + 1_000,
  });
  return {
    exchange: (request, signal) =>
      new Promise((resolve) => {
        const handler = new Exchange(maxBodyBytes, request.isBodyLeft === true, resolve);
        handler.watch(signal, timeoutMs);
        try {
          agent.dispatch(
            {
              origin: request.url.origin,
              path: request.url.pathname + request.url.search,
              method: request.method,
              headers: { ...request.headers },
              body: request.body ?? null,
            },
            handler,
          );
        } catch (error) {
          handler.onResponseError(undefined, error instanceof Error ? error : new Error("dispatch failed"));
        }
      }),
    close: () => agent.destroy(),
  };
}

/** Why an exchange was cut off by us. */
class Cut extends Error {
  readonly why: "stopped" | "timeout" | "too_large";
  constructor(why: Cut["why"], cause?: unknown) {
    super(why, { cause });
    this.why = why;
  }
}

/**
 * Follows one exchange through undici's own callbacks, because they alone show when the first byte is written:
 * `onRequestStart` comes after the connection (and TLS) stands and right before the header is put on the socket.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #maxBodyBytes: number;
  readonly #isBodyLeft: boolean;
  readonly #resolve: (result: WireResult) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #isSent = false;
  #cut: Cut | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #head: { status: number; headers: AnswerHeaders } | undefined;
  #unwatch: () => void = () => {};

  constructor(maxBodyBytes: number, isBodyLeft: boolean, resolve: (result: WireResult) => void) {
    this.#maxBodyBytes = maxBodyBytes;
    this.#isBodyLeft = isBodyLeft;
    this.#resolve = resolve;
  }

  /** Cuts the exchange when the caller stops it or its time is over, even while the connection is being made. */
  watch(signal: AbortSignal, timeoutMs: number): void {
    const onStop = () => this.#end(new Cut("stopped", signal.reason));
    // No AbortSignal.timeout, which stays until its time is over: those of fast calls would gather by the ten thousands.
    const deadline = setTimeout(() => this.#end(new Cut("timeout")), timeoutMs);
    this.#unwatch = () => {
      signal.removeEventListener("abort", onStop);
      clearTimeout(deadline);
    };
    signal.addEventListener("abort", onStop, { once: true });
    if (signal.aborted) onStop();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Cut while it waited for a connection: undici would write it now, although its caller had heard "not sent".
    if (this.#cut) {
      controller.abort(this.#cut);
      return;
    }
    this.#isSent = true;
    this.#controller = controller;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#head = { status, headers: readHeaders(headers) };
    if (!this.#isBodyLeft) return;
    this.#unwatch();
    this.#resolve({ kind: "answer", ...this.#head, body: Buffer.alloc(0) });
    controller.abort(new Error("the body is left"));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#maxBodyBytes) this.#end(new Cut("too_large"));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#head) {
      this.onResponseError(undefined, new Error("an answer without a status"));
      return;
    }
    const packed = Buffer.concat(this.#chunks, this.#size);
    const body = unpack(packed, this.#head.headers.codings ?? [], this.#maxBodyBytes);
    if (body === "too large") {
      this.#end(new Cut("too_large"));
      return;
    }
    this.#unwatch();
    this.#resolve({ kind: "answer", ...this.#head, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#unwatch();
    // After a cut the promise has ended already, and this second call does nothing.
    this.#resolve({ kind: "broken", isSent: this.#isSent, why: "network", error });
  }

  #end(cut: Cut): void {
    if (this.#cut) return;
    this.#cut = cut;
    this.#unwatch();
    this.#resolve({ kind: "broken", isSent: this.#isSent, why: cut.why, error: cut });
    this.#controller?.abort(cut);
  }
}

const UNPACKERS: Readonly<Record<string, (body: Buffer, options: ZlibOptions) => Buffer>> = {
  deflate: inflate,
  br: brotliDecompressSync,
};

/** Some servers leave out the frame that the standard wants, which begins with 8; JSON that was not packed at all stays. */
function inflate(body: Buffer, options: ZlibOptions): Buffer {
  const first = body[0] ?? 0;
  if (first % 16 === 8) return inflateSync(body, options);
  return "{[".includes(String.fromCharCode(first)) ? body : inflateRawSync(body, options);
}

/** Shows by its first bytes, whatever a header says or leaves out: no text begins so. */
function gunzip(body: Buffer, options: ZlibOptions): Buffer {
  return body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body, options) : body;
}

/**
 * Unpacks a body that a gateway packed although we ask for `identity`, up to `maxBytes`. What is not packed as the header says,
 * or in a way that nobody knows, stays as it is: whether it can be read shows where it is read.
 */
function unpack(body: Buffer, codings: readonly string[], maxBytes: number): Buffer | "too large" {
  const options = { maxOutputLength: maxBytes };
  try {
    return codings.reduceRight(
      (bytes, coding) => gunzip(UNPACKERS[coding]?.(bytes, options) ?? bytes, options),
      gunzip(body, options),
    );
  } catch (error) {
    const isBomb = codeOf(error) === "ERR_BUFFER_TOO_LARGE";
    return isBomb ? "too large" : body;
  }
}

/** Words for system and TLS error codes that operators meet; other codes are quoted as they are. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at that address",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the name server did not answer",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
  ETIMEDOUT: "the connection could not be made in time",
  UND_ERR_CONNECT_TIMEOUT: "the connection could not be made in time",
  UND_ERR_SOCKET: "the connection was closed",
  UND_ERR_HEADERS_OVERFLOW: "the answer's headers are larger than allowed",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer says its length twice or wrongly (Content-Length)",
  ERR_SSL_WRONG_VERSION_NUMBER: "what listens there speaks no TLS: is it http:// and not https://?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "what listens there speaks no TLS: is it http:// and not https://?",
};

/** What the certificates of the service and its token endpoint are judged by. */
export const SERVICE_TLS: TlsSettings = { ca: "`service.ca`", name: "`service.baseUrl`" };

/** Why an exchange came to no answer, in words for an operator. */
interface BrokenWords {
  readonly why: string;
  /** What a person does about it, where it is about a certificate. */
  readonly lead?: string | undefined;
}

/**
 * Why an exchange came to no answer.
 *
 * @param why what the wire says: `stopped`, `timeout`, `too_large`, or that the connection failed
 * @param error what the connection failed with; of it only the code is shown, and the names of a certificate
 * @param settings where the configuration has what the peer's certificate is judged by
 */
export function reasonOf(why: string, error: Error, settings: TlsSettings): BrokenWords {
  if (why === "stopped") return { why: "stopped" };
  if (why === "timeout") return { why: "no whole answer in time" };
  if (why === "too_large") return { why: "the answer is larger than allowed" };
  // Its message is the parser's own word, and has nothing of the answer.
  if (error instanceof errors.HTTPParserError) return { why: `the answer can't be read: ${error.message}` };
  const code = codeOf(error) ?? error.name;
  if (!(error instanceof ProxyFailure))
    return tlsTroubleOf(error, settings) ?? { why: WORDS[code] ?? `the connection failed (${code})` };
  if (error.status !== undefined) return { why: error.message };
  const words = tlsTroubleOf(error, { ...settings, name: "`proxy.url`" }) ?? {
    why: WORDS[code] ?? `the connection failed (${code})`,
  };
  return { ...words, why: `${error.message} can't be reached: ${words.why}` };
}

/** HTTP methods of calls to the service. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
