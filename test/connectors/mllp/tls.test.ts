import { connect as connectTls, type TLSSocket } from "node:tls";
import { pino } from "pino";
import { describe, expect, it, test } from "vitest";
import { certificateNames, shown } from "../../../src/connectors/mllp/listener.ts";
import { MllpSender } from "../../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { withCertificates } from "./with-certificates.ts";
import { framed, withListener } from "./with-listener.ts";

/** Sends one frame over TLS; gives what was heard until the answer, or until the connection ended. */
function send(port: number, options: Readonly<Record<string, unknown>>): Promise<string> {
  return new Promise((resolve) => {
    let heard = "";
    const socket: TLSSocket = connectTls({ host: "127.0.0.1", port, ...options }, () =>
      socket.write(Buffer.from(framed("hello"), "latin1")),
    );
    socket.on("data", (chunk: Buffer) => {
      heard += chunk.toString("latin1");
      if (heard.endsWith("\x1c\r")) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(heard));
  });
}

describe("MLLP over TLS", () => {
  it("is answered to a sender that trusts our authority", () =>
    withCertificates(({ ca, server }) =>
      withListener({ tls: { ...server, requestCert: false } }, async ({ port }) => {
        expect(await send(port, { ca })).toBe(framed("ok hello"));
      }),
    ));

  it("takes nothing in clear, and counts who tries", () =>
    withCertificates(({ server }) =>
      withListener({ tls: { ...server, requestCert: false } }, async ({ open, taken, listener }) => {
        const peer = await open();
        peer.write(framed("hello"));
        await eventually(() => peer.isClosed);
        expect(taken).toEqual([]);
        expect(listener.status).toMatchObject({ failedHandshakes: 1, connections: 0 });
      }),
    ));

  it("takes nothing from a sender without a certificate of the authority where one is asked for", () =>
    withCertificates(({ ca, server, client, stranger }) =>
      withListener({ tls: { ...server, ca, requestCert: true } }, async ({ port, taken }) => {
        expect(await send(port, { ca })).toBe("");
        expect(await send(port, { ca, ...stranger })).toBe("");
        expect(taken).toEqual([]);
        expect(await send(port, { ca, ...client })).toBe(framed("ok hello"));
      }),
    ));

  it("says what about the certificates keeps a sender and a lab system apart", () =>
    withCertificates(({ ca, server, client, stranger }) =>
      withListener({ tls: { ...server, ca, requestCert: true } }, async ({ port, taken }) => {
        const reasonOf = async (tls: Readonly<Record<string, unknown>>) => {
          const sender = new MllpSender(
            { host: "127.0.0.1", port, tls, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 },
            { clock: systemClock, logger: pino({ level: "silent" }) },
          );
          const [sent] = await Promise.allSettled([sender.send(Buffer.from("x"), "1")]);
          await sender.close();
          return sent.status === "rejected" ? String(sent.reason.message) : "sent";
        };
        expect(await reasonOf({ ...client })).toMatch(
          /CERT.*: its certificate .*not trusted: `results\.tls\.ca` has to name/,
        );
        expect(await reasonOf({ ca, ...client, servername: "elsewhere.example" })).toMatch(
          /ALTNAME_INVALID: its certificate is for another name \(it has .*localhost\): .*`results\.tls\.serverName`/,
        );
        expect(await reasonOf({ ca, ...client, servername: "10.9.8.7" })).toMatch(/ALTNAME_INVALID/);
        expect(await reasonOf({ ca })).toMatch(
          /ALERT_CERTIFICATE_REQUIRED: it asks for a certificate of ours .*`results\.tls\.cert`/,
        );
        expect(await reasonOf({ ca, ...stranger })).toMatch(/`results\.tls\.cert`|closed the connection/);
        expect(taken).toEqual([]);
      }),
    ));

  it("carries results to a lab system whose certificate is right, and none to another", () =>
    withCertificates(({ ca, server, client }) =>
      withListener(
        { tls: { ...server, ca, requestCert: true } },
        async ({ port, taken }) => {
          const sender = (tls: Readonly<Record<string, unknown>>) =>
            new MllpSender(
              { host: "127.0.0.1", port, tls, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 },
              { clock: systemClock, logger: pino({ level: "silent" }) },
            );
          const trusting = sender({ ca, ...client });
          await trusting.send(Buffer.from("MSH|^~\\&|||||||ORU^R01|7|P|2.5\r"), "7");
          await trusting.close();
          const doubting = sender({ ...client });
          await expect(doubting.send(Buffer.from("x"), "8")).rejects.toMatchObject({
            code: "MLLP_UNREACHABLE",
          });
          await doubting.close();
          expect(taken).toHaveLength(1);
        },
        () => Promise.resolve("MSH|^~\\&|||||||ACK|1|P|2.5\rMSA|AA|7\r"),
      ),
    ));

  it.each([
    ["the CN of its subject", ["other", "lims"], true],
    ["a DNS name of its SAN", ["localhost"], true],
    ["another name", ["other"], false],
    ["its name in other letters", ["LIMS"], false],
    ["the beginning of its name", ["lim"], false],
    ["its address", ["127.0.0.1"], false],
  ] as const)(
    "takes what a sender sends whose certificate is allowed by %s: %j %j",
    (_, allowSubjects, isAllowed) =>
      withCertificates(({ ca, server, client }) =>
        withListener(
          { tls: { ...server, ca, requestCert: true, allowSubjects } },
          async ({ port, listener, taken }) => {
            expect(await send(port, { ca, ...client })).toBe(isAllowed ? framed("ok hello") : "");
            expect(taken).toHaveLength(isAllowed ? 1 : 0);
            expect(listener.status.refusedCertificates).toBe(isAllowed ? 0 : 1);
            // Nobody who was refused keeps a place.
            await eventually(() => listener.status.connections === 0 && !listener.status.isFull);
          },
        ),
      ),
  );
});

const subject = (CN?: unknown) => ({ subject: { CN } }) as never;

describe("the names of a certificate", () => {
  test("are the CN and the DNS names, and nothing else of the SAN", () => {
    expect(
      certificateNames({
        ...(subject("Clinic East") as object),
        subjectaltname:
          "DNS:lims.example.org, IP Address:10.1.2.3, DNS:b.example.org, URI:DNS:no.example.org",
      }),
    ).toEqual(["Clinic East", "lims.example.org", "b.example.org"]);
  });

  test("are all of several CNs", () => {
    expect(certificateNames(subject(["a", "b"]))).toEqual(["a", "b"]);
  });

  test("are none where there is neither", () => {
    expect(certificateNames({})).toEqual([]);
    expect(certificateNames({ subjectaltname: "" })).toEqual([]);
  });

  test.each([
    'DNS:"a.example.org, DNS:lims.example.org"',
    'URI:"http://x/, DNS:lims.example.org"',
    'DNS:"a\\", DNS:lims.example.org"',
    'othername:"x, DNS:lims.example.org", DNS:b.example.org',
  ])("are not what is hidden within another one: %s", (subjectaltname) => {
    expect(certificateNames({ subjectaltname })).not.toContain("lims.example.org");
  });
});

test("a name is shown in one line and cut", () => {
  expect(shown(`a\n${"b".repeat(300)}`)).toBe(`a ${"b".repeat(198)}`);
});
