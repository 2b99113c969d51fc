import { X509Certificate } from "node:crypto";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { pino } from "pino";
import { expect, test } from "vitest";
import { MllpListener } from "../../../src/connectors/mllp/listener.ts";
import { MllpSender } from "../../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { PeerCertificates } from "../../../src/core/peer-certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { withCertificates } from "./with-certificates.ts";
import { LISTEN } from "./with-listener.ts";

const DAY_MS = 86_400_000;

test("the end of the certificates is known that a lab's systems show, both those that come and the one that results go to", () =>
  withCertificates(async ({ ca, server, client }) => {
    const came = new PeerCertificates(systemClock);
    const called = new PeerCertificates(systemClock);
    const deps = { clock: systemClock, logger: pino({ level: "silent" }) };
    const listener = new MllpListener(
      { ...LISTEN, tls: { ...server, ca, requestCert: true } },
      {
        ...deps,
        onPeer: (peer, socket) => came.noteCaller(peer, socket),
        take: async () => [Buffer.from("MSH|^~\\&|||||||ACK|1|P|2.5\rMSA|AA|7\r")],
        keepUnended: async () => {},
      },
    );
    await listener.start();
    const port = listener.port as number;
    const sender = new MllpSender(
      { host: "127.0.0.1", port, tls: { ca, ...client }, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 },
      { ...deps, onPeer: (peer, socket) => called.noteCalled(peer, socket) },
    );
    try {
      await sender.send(Buffer.from("MSH|^~\\&|||||||ORU^R01|7|P|2.5\r"), "7");
      expect(called.list()).toEqual([{ peer: `127.0.0.1:${port}`, ...soon() }]);
      expect(came.list()).toEqual([{ peer: "CN=lims", ...soon() }]);
    } finally {
      await sender.close();
      await listener.stop(1_000);
    }
  }));

test("a lab's system that renewed its certificate and comes from another address is one, with the newest end that it showed in a week", () =>
  withCertificates(async ({ ca, server, client, renewed }) => {
    let now = Date.now();
    const came = new PeerCertificates({ ...systemClock, now: () => now });
    const comers: Socket[] = [];
    const listener = new MllpListener(
      { ...LISTEN, tls: { ...server, ca, requestCert: true } },
      {
        ...{ clock: systemClock, logger: pino({ level: "silent" }) },
        onPeer: (_peer, socket) => {
          comers.push(socket);
          came.noteCaller(`10.0.0.${comers.length}`, socket, "connector lims");
        },
        take: async () => [],
        keepUnended: async () => {},
      },
    );
    await listener.start();
    const come = async (own: typeof client) => {
      const before = comers.length;
      const socket = connect({ host: "127.0.0.1", port: listener.port as number, ca, ...own });
      await eventually(() => comers.length > before);
      socket.destroy();
      await eventually(() => comers.every(({ destroyed }) => destroyed));
    };
    const end = ({ cert }: typeof client) => new X509Certificate(cert).validToDate;
    try {
      // The old one may come once more.
      for (const own of [client, renewed, client]) await come(own);
      expect(came.list()).toEqual([{ peer: "CN=lims (connector lims)", endsAt: end(renewed) }]);
      // What replaces a certificate may end earlier.
      now += 8 * DAY_MS;
      await come(client);
      expect(came.list()).toEqual([{ peer: "CN=lims (connector lims)", endsAt: end(client) }]);
    } finally {
      await listener.stop(1_000);
    }
  }));

test("who has not come for a week is forgotten, and not while a connection is open", () =>
  withCertificates(async ({ ca, server }) => {
    let now = Date.now();
    const seen = new PeerCertificates({ ...systemClock, now: () => now });
    const listener = new MllpListener(
      { ...LISTEN, tls: { ...server, requestCert: false } },
      {
        ...{ clock: systemClock, logger: pino({ level: "silent" }) },
        take: async () => [],
        keepUnended: async () => {},
      },
    );
    await listener.start();
    const socket = connect({ host: "127.0.0.1", port: listener.port as number, ca });
    try {
      await eventually(() => socket.authorized);
      seen.noteCalled("lims", socket);
      expect(seen.list()).toHaveLength(1);
      now += 31 * DAY_MS;
      expect(seen.list()).toHaveLength(1);
      socket.destroy();
      now += 8 * DAY_MS;
      expect(seen.list()).toEqual([]);
    } finally {
      socket.destroy();
      await listener.stop(1_000);
    }
  }));

/** Certificates of these tests last two days. */
function soon() {
  return {
    endsAt: expect.toSatisfy((at: Date) => at.getTime() - Date.now() < 2 * DAY_MS),
  };
}
