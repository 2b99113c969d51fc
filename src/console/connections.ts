import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { peerKey } from "./peer.ts";

/** How many connections are kept open. */
export interface ConnectionLimits {
  readonly inAll: number;
  /** Of one address; of IPv6, of one /64. */
  readonly perPeer: number;
  /** Those for which only the limit of all counts, since they carry many people's requests. */
  readonly isProxy: (address: string | undefined) => boolean;
}

interface Connection {
  readonly socket: Socket;
  /** Undefined for a proxy. */
  readonly peer: string | undefined;
  /** Requests that have begun and are not answered. */
  readonly requests: Set<IncomingMessage>;
}

/**
 * Keeps a number of idle connections from shutting out everybody else: where there are too many of a peer, or in all, the
 * one that has been idle for longest gives way to the new one. Idle is one that has asked for nothing in full. Only where
 * all of them are being answered is the new one closed.
 */
export function limitConnections(server: Server, { inAll, perPeer, isProxy }: ConnectionLimits): void {
  /** Those that were idle first come first. */
  const open = new Map<Socket, Connection>();
  const close = ({ socket }: Connection) => {
    open.delete(socket);
    socket.destroy();
  };
  const makeRoom = (among: readonly Connection[], limit: number): boolean => {
    if (among.length < limit) return true;
    const oldest = among.find(isIdle);
    if (oldest) close(oldest);
    return oldest !== undefined;
  };
  server.on("connection", (socket: Socket) => {
    const peer = isProxy(socket.remoteAddress) ? undefined : peerKey(socket.remoteAddress ?? "");
    const connection: Connection = { socket, peer, requests: new Set() };
    const same = peer === undefined ? [] : [...open.values()].filter((each) => each.peer === peer);
    if (!makeRoom(same, perPeer) || !makeRoom([...open.values()], inAll)) {
      socket.destroy();
      return;
    }
    open.set(socket, connection);
    socket.once("close", () => open.delete(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const connection = open.get(socket);
    if (!connection) return;
    connection.requests.add(request);
    response.once("close", () => {
      connection.requests.delete(request);
      // Idle from now on: to the end of the line.
      if (open.delete(socket)) open.set(socket, connection);
    });
  });
}

/** What has come of a request in part only, a form whose end never comes for example, keeps no connection. */
function isIdle({ requests }: Connection): boolean {
  return ![...requests].some((request) => request.complete);
}
