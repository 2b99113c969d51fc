import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A network between a program and a server, that can be cut. */
export interface CuttableLink {
  /** On this machine's 127.0.0.1. */
  readonly port: number;
  /**
   * Nothing gets through any more, in either direction, and nobody is told: what is sent meanwhile is gone for good. Until
   * {@link restore}, new connections are taken and lead nowhere.
   */
  cut(): void;
  /** Lets new connections through; those that were cut are reset, as a router does that has forgotten them. */
  restore(): void;
  close(): Promise<void>;
}

/** Puts a network before a server at a port of this machine. */
export async function openLink(serverPort: number): Promise<CuttableLink> {
  const pairs = new Set<readonly [client: Socket, server: Socket | undefined]>();
  let isCut = false;
  const front = createServer((client) => {
    const server = isCut ? undefined : connect(serverPort, "127.0.0.1");
    const pair = [client, server] as const;
    pairs.add(pair);
    for (const socket of [client, server]) {
      socket?.setNoDelay(true);
      socket
        ?.on("error", () => undefined)
        .on("close", () => {
          // A side that ends while the link is cut isn't noticed by the other.
          if (!isCut) {
            pairs.delete(pair);
            client.destroy();
            server?.destroy();
          }
        });
    }
    client.on("data", (bytes: Buffer) => {
      if (!isCut) server?.write(bytes);
    });
    server?.on("data", (bytes: Buffer) => {
      if (!isCut) client.write(bytes);
    });
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  const resetAll = () => {
    for (const [client, server] of pairs) {
      client.resetAndDestroy();
      server?.destroy();
    }
    pairs.clear();
  };
  return {
    port: (front.address() as AddressInfo).port,
    cut: () => {
      isCut = true;
    },
    restore: () => {
      isCut = false;
      resetAll();
    },
    close: async () => {
      resetAll();
      await new Promise((resolve) => front.close(resolve));
    },
  };
}
