import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { withFolder } from "../../support/with-folder.ts";

const run = promisify(execFile);

/** Certificates and their keys (PEM), good for this machine. */
export interface Certificates {
  readonly ca: Buffer;
  readonly server: { readonly cert: Buffer; readonly key: Buffer };
  readonly client: { readonly cert: Buffer; readonly key: Buffer };
  /** The client's next one, which ends a day later. */
  readonly renewed: { readonly cert: Buffer; readonly key: Buffer };
  readonly stranger: { readonly cert: Buffer; readonly key: Buffer };
}

/** An authority, a server and a client of it, and a stranger that nobody vouches for. */
export async function withCertificates(test: (certificates: Certificates) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const openssl = (...words: string[]) => run("openssl", words, { cwd: folder });
    const make = async (name: string, subject: string, signer: readonly string[] = [], days = 2) => {
      const names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
      await openssl(
        ...[
          "req",
          "-x509",
          "-newkey",
          "ec",
          "-pkeyopt",
          "ec_paramgen_curve:prime256v1",
          "-nodes",
          "-days",
          String(days),
        ],
        ...["-keyout", `${name}.key`, "-out", `${name}.pem`, "-subj", `/CN=${subject}`, "-addext", names],
        ...signer,
      );
      return {
        cert: await readFile(join(folder, `${name}.pem`)),
        key: await readFile(join(folder, `${name}.key`)),
      };
    };
    const { cert: ca } = await make("ca", "Lab authority");
    const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"];
    await test({
      ca,
      server: await make("server", "localhost", signed),
      client: await make("client", "lims", signed),
      renewed: await make("renewed", "lims", signed, 3),
      stranger: await make("stranger", "stranger"),
    });
  });
}
