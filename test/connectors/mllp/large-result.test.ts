import { createServer, type Socket } from "node:net";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createMllp } from "../../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { Intake } from "../../../src/core/intake.ts";
import { framed, LISTEN } from "./with-listener.ts";

const never = () => Promise.reject(new Error("nothing is taken"));
const NO_INTAKE: Intake = {
  openFile: never,
  settleFile: never,
  accept: never,
  inspect: () => [],
  answerBatch: () => undefined,
};

test("a result with more segments than are taken of a lab is sent", async () => {
  let heard = "";
  const sockets: Socket[] = [];
  const lab = createServer((socket) => {
    sockets.push(socket);
    socket.on("data", (chunk: Buffer) => {
      heard += chunk.toString("latin1");
      if (heard.endsWith("\x1c\r"))
        socket.write(framed("MSH|^~\\&|C|D|A|B|20260101||ACK|X|P|2.5\rMSA|AA|R-1\r"));
    });
  });
  await new Promise<void>((resolve) => lab.listen(0, "127.0.0.1", resolve));
  const address = lab.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const results = { host: "127.0.0.1", port, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 };
  const connector = createMllp(
    { name: "lims", listen: LISTEN, results },
    { clock: systemClock, logger: pino({ level: "silent" }), intake: NO_INTAKE },
  );
  const text = `MSH|^~\\&|A|B|C|D|20260101||ORR^O02|R-1|P|2.5\r${"ORC|OK|1\r".repeat(25_000)}`;
  try {
    await connector.deliver({ fileName: "R-1.hl7", bytes: Buffer.from(text) });
    expect(heard).toBe(framed(text));
  } finally {
    await connector.stop();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => lab.close(resolve));
  }
});
