import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { keepTakenBack } from "../../src/app/connectors.ts";
import { createMllp } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { Intake } from "../../src/core/intake.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { eventually } from "../support/eventually.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const noIntake: Intake = {
  openFile: () => Promise.reject(new Error("nothing is taken in")),
  accept: () => Promise.reject(new Error("nothing is taken in")),
  inspect: () => [],
  settleFile: () => Promise.reject(new Error("nothing is taken in")),
  answerBatch: () => undefined,
};

/** Never listened on: nothing is started. */
const LISTEN = {
  ...{ host: "127.0.0.1", port: 0, allow: [] },
  ...{
    maxConnections: 1,
    maxConnectionsPerAddress: 1,
    maxBytes: 1,
    maxOpenBytes: 1,
    maxInFlight: 1,
    maxMessages: 1,
    idleMs: 1,
    firstFrameMs: 1,
    frameMs: 1,
  },
};

/** A lab that answers each result with these codes, one after the other in one chunk. */
async function withAnswers(codes: readonly string[], run: (port: number) => Promise<void>): Promise<void> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      const id = chunk.toString("latin1").split("|")[9];
      const answers = codes.map((code) => `\x0bMSH|^~\\&|C|D\rMSA|${code}|${id}\rERR|||207\r\x1c\r`);
      socket.write(answers.join(""));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await run((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const result = (id: string) => ({
  fileName: `A-1_${id}.hl7`,
  bytes: Buffer.from(`MSH|^~\\&|A|B|C|D|20260101||ORU^R01|${id}|P|2.5\r`),
});

test.each([
  [["CA", "AE"], ["AE (207)"]],
  [["AA", "AR"], ["AR (207)"]],
  [["CA", "AE", "AE"], ["AE (207)"]],
  [["CA", "AA"], []],
  [["AE", "AE"], []],
])("of a result that the lab answers with %j a person is asked to see to %j", (codes, answers) =>
  withLedger(async ({ pool }) => {
    const [file, mark] = [result("R1"), result("R2")];
    await pool.query(
      "insert into deliveries (connector, file_name, bytes, state) select 'lims', f, 'x', 'pending' from unnest($1::text[]) f",
      [[file.fileName]],
    );
    await withAnswers(codes, async (port) => {
      const results = { host: "127.0.0.1", port, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 };
      const takenBack = keepTakenBack(pool, silent);
      let reported = 0;
      const onTakenBack = (name: string, answer: string) => {
        reported += 1;
        takenBack("lims", name, answer);
      };
      const connector = createMllp(
        { name: "lims", listen: LISTEN, results },
        { clock: systemClock, logger: silent, intake: noIntake, onTakenBack },
      );
      await connector.deliver(file).catch(() => undefined);
      // All that came for the first one is heard before the second one is answered.
      await connector.deliver(mark).catch(() => undefined);
      expect(reported).toBeGreaterThanOrEqual(answers.length);
      const tasks = await eventually(async () => {
        const open = await listOpenTasks(pool, 10);
        return open.length === answers.length ? { open } : undefined;
      });
      expect(tasks.open).toEqual(
        answers.map((answer) =>
          expect.objectContaining({
            kind: "taken_back",
            deliveryId: "d1",
            text: expect.stringContaining(answer),
          }),
        ),
      );
      if (answers.length === 0) expect(reported).toBe(0);
      await connector.stop();
    });
  }),
);
