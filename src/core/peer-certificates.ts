import { TLSSocket } from "node:tls";
import type { Clock } from "./clock.ts";

/** A certificate that another machine showed. */
interface PeerCertificate {
  /** Who showed it, for people. */
  readonly peer: string;
  readonly endsAt: Date;
}

/** One that was seen, with a connection that showed it, and when that was last known to be open. */
interface Seen extends PeerCertificate {
  readonly socket: TLSSocket;
  atMs: number;
}

/** Of more certificates nothing is kept. */
const MOST_SEEN = 1_000;
/** What nobody has shown for this long was replaced by now, or who showed it comes no more, ms. */
const KEPT_MS = 7 * 86_400_000;

/** Remembers when the certificates end that other machines show in their handshakes. */
export class PeerCertificates {
  readonly #clock: Clock;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Notes the certificate of a machine that was called: what its address showed last counts. Without TLS nothing is noted.
   * @param place where it belongs, for people
   */
  noteCalled(address: string, socket: unknown, place?: string): void {
    const shown = certificateOf(socket);
    const peer = placed(address, place);
    if (shown) this.#keep(peer, { ...shown, peer });
  }

  /**
   * Notes the certificate of a machine that called. It is known again by the subject of its certificate, since it may come from
   * another address; of those that a subject shows the newest end counts. Without TLS, or where it showed none, nothing is noted.
   * @param place where it belongs, for people
   */
  noteCaller(address: string, socket: unknown, place?: string): void {
    const shown = certificateOf(socket);
    if (!shown) return;
    const peer = placed(shown.subject || address, place);
    this.#keep(`${peer}\n${shown.fingerprint}`, { ...shown, peer });
  }

  /** One for each peer. */
  list(): readonly PeerCertificate[] {
    const now = this.#clock.now();
    const newest = new Map<string, PeerCertificate>();
    for (const [key, seen] of this.#seen) {
      const { peer, endsAt, socket } = seen;
      if (!socket.destroyed) seen.atMs = now;
      if (seen.atMs < now - KEPT_MS) this.#seen.delete(key);
      else if (endsAt > (newest.get(peer)?.endsAt ?? 0)) newest.set(peer, { peer, endsAt });
    }
    return [...newest.values()];
  }

  #keep(key: string, { peer, endsAt, socket }: PeerCertificate & { readonly socket: TLSSocket }): void {
    if (this.#seen.size >= MOST_SEEN && !this.#seen.has(key)) return;
    this.#seen.set(key, { peer, endsAt, socket, atMs: this.#clock.now() });
  }
}

function placed(name: string, place: string | undefined): string {
  return place === undefined ? name : `${name} (${place})`;
}

/** The certificate of a connection's peer. A session that was resumed may come without one. */
function certificateOf(socket: unknown) {
  if (!(socket instanceof TLSSocket)) return undefined;
  const { subject = {}, valid_to, fingerprint256: fingerprint } = socket.getPeerCertificate();
  const endsAt = new Date(valid_to ?? Number.NaN);
  if (Number.isNaN(endsAt.getTime())) return undefined;
  const parts = Object.entries(subject).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}=${value}`),
  );
  // It becomes part of what an alert is known by, which is one line.
  return { subject: parts.join(", ").replaceAll(/\p{Cc}/gu, " "), fingerprint, endsAt, socket };
}
