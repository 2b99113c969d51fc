import { writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { FrameReader } from "../../src/formats/hl7/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { type CliResult, type CliWorld, runCli } from "./run-cli.ts";
import { configText, ENV, PATIENT } from "./with-lab.ts";

/** What of the patient of `hl7Text` must not be seen. */
export const SECRETS = [PATIENT.code, PATIENT.firstName, PATIENT.lastName, "19810203"];

/** Runs `hl7` with files of these contents; `@NAME` in the words is replaced by the file's path. */
export function hl7(
  files: Readonly<Record<string, string | Buffer>>,
  ...words: string[]
): Promise<CliResult> {
  return hl7In({}, files, ...words);
}

/** The same in a world of its own. */
export function hl7In(
  world: CliWorld,
  files: Readonly<Record<string, string | Buffer>>,
  ...words: string[]
): Promise<CliResult> {
  return withFolder(async (folder) => {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    await writeFile(join(folder, "c.yaml"), configText(undefined));
    const argv = words.map((word) => (word.startsWith("@") ? join(folder, word.slice(1)) : word));
    return runCli(["--config", join(folder, "c.yaml"), "hl7", ...argv], { env: ENV, ...world });
  });
}

/** Runs `hl7 listen` until it is stopped; gives its port, what it printed so far, and its notes. */
export async function withListen(
  words: readonly string[],
  test: (port: number, printed: () => string, noted: () => string) => Promise<void>,
): Promise<CliResult> {
  let stop = () => {};
  let printed = "";
  let heard = "";
  const running = runCli(["hl7", "listen", "--port", "0", ...words], {
    onStop: (listener) => {
      stop = listener;
      return () => undefined;
    },
    onStdout: (text) => {
      printed += text;
    },
    onStderr: (text) => {
      heard += text;
    },
  });
  const port = await eventually(() => /listening on 127\.0\.0\.1:(\d+)/.exec(heard)?.[1]);
  try {
    await test(
      Number(port),
      () => printed,
      () => heard,
    );
  } finally {
    stop();
  }
  return running;
}

/** A receiver that does with each frame as a test says; gives its `--to`, and the frames that came. */
export async function withReceiver(
  answer: (socket: Socket, frame: string, nth: number) => void,
  test: (to: string, frames: readonly string[]) => Promise<void>,
  onConnect: (socket: Socket) => void = () => undefined,
): Promise<void> {
  const frames: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    const reader = new FrameReader(10_000_000);
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind !== "frame") continue;
        frames.push(event.bytes.toString());
        answer(socket, event.bytes.toString(), frames.length);
      }
    });
    onConnect(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await test(`127.0.0.1:${port}`, frames);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** An acknowledgement, as a message. */
export function ackText(code: string, controlId: string, more = ""): string {
  return `MSH|^~\\&|C|B|L|N|20261122||ACK|A-${controlId}|P|2.5.1\rMSA|${code}|${controlId}\r${more}`;
}
