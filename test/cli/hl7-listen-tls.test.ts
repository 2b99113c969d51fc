import { spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Certificates, withCertificates } from "../connectors/mllp/with-certificates.ts";
import { framed } from "../connectors/mllp/with-listener.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { hl7, withListen } from "./with-hl7.ts";
import { hl7Text } from "./with-lab.ts";

/** Certificates, and the paths of files that hold them. */
function withPems(
  test: (certificates: Certificates, path: (name: string) => string) => Promise<void>,
): Promise<void> {
  return withCertificates((certificates) =>
    withFolder(async (folder) => {
      const path = (name: string) => join(folder, name);
      await writeFile(path("ca.pem"), certificates.ca);
      for (const name of ["server", "client", "stranger"] as const) {
        await writeFile(path(`${name}.pem`), certificates[name].cert);
        await writeFile(path(`${name}.key`), certificates[name].key);
      }
      await test(certificates, path);
    }),
  );
}
const send = (port: number, ...words: string[]) =>
  hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", `127.0.0.1:${port}`, ...words);

/** What a program of another project hears for one frame. */
async function opensslHears(port: number, ca: string, frame: string): Promise<string> {
  const words = [
    "s_client",
    "-connect",
    `127.0.0.1:${port}`,
    "-CAfile",
    ca,
    "-verify_return_error",
    "-quiet",
  ];
  const child = spawn("openssl", words, { stdio: ["pipe", "pipe", "ignore"] });
  let heard = "";
  child.stdout.on("data", (chunk: Buffer) => {
    heard += chunk.toString("latin1");
  });
  try {
    child.stdin.write(frame);
    return await eventually(() => (heard.endsWith("\x1c\r") ? heard : undefined));
  } finally {
    child.kill();
  }
}

describe("hl7 listen with a certificate", () => {
  it("speaks TLS, says which certificate it shows, and answers a sender of another project", () =>
    withPems(async ({ server }, path) => {
      const words = ["--cert", path("server.pem"), "--key", path("server.key")];
      const { status } = await withListen(words, async (port, printed, noted) => {
        expect(noted()).toContain(`listening on 127.0.0.1:${port} with TLS; Ctrl+C ends it\n`);
        expect(noted()).toContain(`SHA-256 ${new X509Certificate(server.cert).fingerprint256}`);
        const heard = await opensslHears(port, path("ca.pem"), framed(hl7Text()));
        expect(heard).toContain("\rMSA|AA|MSG0001\r");
        expect(printed()).toContain("answered AA");
      });
      expect(status).toBe(0);
    }));

  it("takes nothing in clear, and says what such a sender does", () =>
    withPems(async (_, path) => {
      const words = ["--tls", "--cert", path("server.pem"), "--key", path("server.key")];
      await withListen(words, async (port, printed, noted) => {
        expect((await send(port)).status).toBe(4);
        expect((await send(port, "--ca", path("ca.pem"))).status).toBe(0);
        await eventually(() => noted().includes("a peer's TLS handshake failed (it speaks no TLS)"));
        expect(printed().match(/answered AA/g)).toHaveLength(1);
      });
    }));

  it("with an authority takes messages only of senders that show a certificate of it", () =>
    withPems(async (_, path) => {
      const pair = (name: string) => ["--cert", path(`${name}.pem`), "--key", path(`${name}.key`)];
      await withListen([...pair("server"), "--ca", path("ca.pem")], async (port, printed, noted) => {
        expect((await send(port, "--ca", path("ca.pem"))).status).toBe(4);
        expect((await send(port, "--ca", path("ca.pem"), ...pair("stranger"))).status).toBe(4);
        expect((await send(port, "--ca", path("ca.pem"), ...pair("client"))).status).toBe(0);
        await eventually(() => noted().includes("TLS handshake failed (it shows no certificate)"));
        expect(printed().match(/answered AA/g)).toHaveLength(1);
      });
    }));
});

describe("hl7 listen refuses", () => {
  it.each([[["--tls"]], [["--ca", "@ca"]]])("%j without a certificate, and says how to make one", (words) =>
    withCertificates(async ({ ca }) => {
      const { status, stderr } = await hl7({ ca }, "listen", "--port", "0", ...words);
      expect(status).toBe(2);
      expect(stderr).toContain("TLS needs --cert and --key");
      expect(stderr).toMatch(/^ *openssl req -x509 .* -keyout key.pem -out cert.pem$/m);
    }),
  );

  it("a certificate without its key, another's key, and files that hold neither", () =>
    withCertificates(async ({ server, client }) => {
      const files = { cert: server.cert, key: client.key, none: "nothing" };
      const listen = (...words: string[]) => hl7(files, "listen", "--port", "0", ...words);
      expect(await listen("--cert", "@cert")).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("--cert and --key go together"),
      });
      expect(await listen("--cert", "@cert", "--key", "@key")).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("--key is not the key of --cert"),
      });
      expect(await listen("--cert", "@none", "--key", "@key")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("holds no certificate in PEM form"),
      });
    }));
});
