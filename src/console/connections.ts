import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Keeps idle connections from shutting out everybody else: where there are too many, the one that has been idle for longest
 * gives way to the new one. Idle is one that has asked for nothing in full. Only where all of them are being answered is the
 * new one closed.
 */
export function limitConnections(server: Server, limit: number): void {
  /** Requests that have begun and are not answered; connections that were idle first come first. */
  const open = new Map<Socket, Set<IncomingMessage>>();
  server.on("connection", (socket: Socket) => {
    if (open.size >= limit) {
      const [closed] = [...open].find(([, requests]) => isIdle(requests)) ?? [socket];
      open.delete(closed);
      closed.destroy();
      if (closed === socket) return;
    }
    open.set(socket, new Set());
    socket.once("close", () => open.delete(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const requests = open.get(socket);
    if (!requests) return;
    requests.add(request);
    response.once("close", () => {
      requests.delete(request);
      // Idle from now on: to the end of the line.
      if (open.delete(socket)) open.set(socket, requests);
    });
  });
}

/** What has come of a request in part only, a form whose end never comes for example, keeps no connection. */
function isIdle(requests: ReadonlySet<IncomingMessage>): boolean {
  return ![...requests].some((request) => request.complete);
}
