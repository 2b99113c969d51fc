import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Hl7Message as MedplumMessage } from "@medplum/core";
import { Hl7Client, type Hl7MessageEvent, Hl7Server, ReturnAckCategory } from "@medplum/hl7";
import NodeHl7Client, { Message as NodeHl7Message } from "node-hl7-client";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { MllpSender } from "../../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { planAcks } from "../../../src/formats/hl7/ack.ts";
import { buildMessage } from "../../../src/formats/hl7/encode.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { acknowledgmentSegments } from "../../../src/formats/hl7/sent-segments.ts";
import { findProgram, machineHas } from "../../support/needs.ts";
import { withFolder } from "../../support/with-folder.ts";
import { withListener } from "./with-listener.ts";

const message = (id: string, modes = "") =>
  `MSH|^~\\&|LIMS|LAB|CRYO|STORE|20260101120000||ORM^O01|${id}|P|2.5|||${modes}\rPID|1||S-1\r`;

/** Answers as a connector does. */
function acknowledge(text: string): Promise<string | undefined> {
  const { header } = Hl7Message.parse(text);
  const { immediate } = planAcks(header, "taken");
  if (immediate === undefined) return Promise.resolve(undefined);
  const ack = acknowledgmentSegments({
    to: header,
    code: immediate,
    controlId: "A1",
    dateTime: "19700101000000+0000",
  });
  return Promise.resolve(buildMessage(ack));
}

describe("our listener takes messages of", () => {
  it("Medplum's client, and answers each", () =>
    withListener(
      {},
      async ({ port, taken }) => {
        const client = new Hl7Client({ host: "127.0.0.1", port });
        for (const id of ["1", "2", "3"]) {
          const answer = await client.sendAndWait(MedplumMessage.parse(message(id)));
          expect(answer.getSegment("MSA")?.toString()).toBe(`MSA|AA|${id}`);
        }
        await client.close();
        expect(taken).toHaveLength(3);
      },
      acknowledge,
    ));

  it("many of Medplum's clients at once, each with many messages in flight", () =>
    withListener(
      {},
      async ({ port, taken }) => {
        const clients = Array.from({ length: 5 }, () => new Hl7Client({ host: "127.0.0.1", port }));
        const answers = await Promise.all(
          clients.flatMap((client, c) =>
            Array.from({ length: 20 }, async (_, n) => {
              const answer = await client.sendAndWait(MedplumMessage.parse(message(`${c}-${n}`)));
              return answer.getSegment("MSA")?.getField(2)?.toString() === `${c}-${n}`;
            }),
          ),
        );
        expect(answers.filter(Boolean)).toHaveLength(100);
        expect(taken).toHaveLength(100);
        for (const client of clients) await client.close();
      },
      acknowledge,
    ));

  it("Medplum's client in enhanced mode, with CA", () =>
    withListener(
      {},
      async ({ port }) => {
        const client = new Hl7Client({ host: "127.0.0.1", port });
        const answer = await client.sendAndWait(MedplumMessage.parse(message("7", "AL|NE")), {
          returnAck: ReturnAckCategory.FIRST,
        });
        expect(answer.getSegment("MSA")?.toString()).toBe("MSA|CA|7");
        await client.close();
      },
      acknowledge,
    ));

  it("node-hl7-client", () =>
    withListener(
      {},
      async ({ port }) => {
        const client = new NodeHl7Client({ host: "127.0.0.1", version: "2.5" });
        const heard = Promise.withResolvers<string>();
        const connection = client.createConnection({ port, version: "2.5" }, (answer) => {
          heard.resolve(answer.getMessage().get("MSA.2").toString());
        });
        await connection.sendMessage(new NodeHl7Message({ text: message("N1").trimEnd() }));
        expect(await heard.promise).toBe("N1");
        await connection.close();
      },
      acknowledge,
    ));

  it.runIf(machineHas("mllp_send"))("python-hl7's mllp_send", () =>
    withListener(
      {},
      ({ port }) =>
        withFolder(async (folder) => {
          const file = join(folder, "messages.hl7");
          await writeFile(file, message("P1"));
          const { stdout } = await promisify(execFile)(findProgram("mllp_send") ?? "", [
            "--loose",
            `--port=${port}`,
            `--file=${file}`,
            "127.0.0.1",
          ]);
          expect(stdout).toContain("MSA|AA|P1");
        }),
      acknowledge,
    ),
  );
});

describe("our sender brings messages to", () => {
  it("Medplum's server, one after the other over one connection", async () => {
    const heard: string[] = [];
    let connections = 0;
    const server = new Hl7Server((connection) => {
      connections += 1;
      connection.addEventListener("message", (event: Hl7MessageEvent) => {
        heard.push(event.message.toString());
        connection.send(event.message.buildAck());
      });
    });
    await server.start(0);
    const address = server.server?.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const sender = new MllpSender(
      { host: "127.0.0.1", port, connectTimeoutMs: 30_000, answerTimeoutMs: 30_000 },
      { clock: systemClock, logger: pino({ level: "silent" }) },
    );
    for (const id of ["1", "2", "3"]) await sender.send(Buffer.from(message(id)), id);
    await sender.close();
    await server.stop();
    expect(heard.map((text) => text.split("|")[9])).toEqual(["1", "2", "3"]);
    expect(connections).toBe(1);
  });
});
