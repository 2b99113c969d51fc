import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withCertificates } from "../connectors/mllp/with-certificates.ts";
import { framed, withListener } from "../connectors/mllp/with-listener.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { ackText, hl7, hl7In, SECRETS, withListen, withReceiver } from "./with-hl7.ts";
import { hl7Text } from "./with-lab.ts";

const message = (id: string) => hl7Text().replace("MSG0001", id);
const TWO = { "two.hl7": message("M-1") + message("M-2") };
const LATIN1 = Buffer.from(hl7Text().replace("Ottilie", "Ottilië"), "latin1");
const ackOf = (frame: string) => framed(ackText("AA", frame.split("|")[9] ?? ""));

describe("a file that is none", () => {
  const commands = [
    ["show", "@x"],
    ["send", "@x", "--to", "127.0.0.1:1"],
  ];
  const pcap = Buffer.concat([Buffer.from("d4c3b2a102000400", "hex"), Buffer.alloc(16)]);

  it.each([
    ["a table", Buffer.from("order_number,operation\nA-1,STORE\n"), /\(HL7_NO_MSH\)\n.*preview/],
    ["a capture of packets", pcap, /x is a capture of network packets; save the bytes of one TCP stream/],
    ["nothing", Buffer.alloc(0), /found nothing \(HL7_FILE_EMPTY\)\n {2}\S/],
  ])("is recognised by its content by each command: %s", async (_, content, said) => {
    for (const words of commands) {
      const { status, stderr } = await hl7({ x: content }, ...words);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringMatching(said),
      });
    }
  });

  it.each([
    ["a folder", "@", "this is a folder, not a file"],
    ["a name that nothing has", "@missing.hl7", "missing.hl7: there is no such file"],
    ["a name below a file", "@x/y", "x/y: there is no such file"],
  ])("is named in words by each command: %s", async (_, path, said) => {
    for (const words of commands) {
      const argv = words.map((word) => (word === "@x" ? path : word));
      const { status, stderr } = await hl7({ x: "" }, ...argv);
      expect({ status, stderr }).toEqual({
        status: 1,
        stderr: expect.stringContaining(said),
      });
    }
  });

  it("is shown as whole when it is a batch without messages", async () => {
    const { status, stderr } = await hl7({ "e.hl7": "BHS|^~\\&|L\rBTS|0\r" }, "show", "@e.hl7");
    expect(status).toBe(0);
    expect(stderr).toContain("e.hl7 is a batch without messages\n");
  });
});

describe("hl7 show of a long file", () => {
  it("stops when nobody reads any more", async () => {
    const files = { "long.hl7": hl7Text().repeat(500) };
    let shown = 0;
    const onStdout = (text: string) => {
      shown += text.match(/^message /gm)?.length ?? 0;
    };
    const world = { onStdout, isRead: () => shown < 100 };
    const { status } = await hl7In(world, files, "show", "@long.hl7");
    expect({ status, shown }).toEqual({ status: 0, shown: 100 });
  });
});

describe("hl7 send", () => {
  it("sends nothing when a later message can't be sent", () =>
    withReceiver(
      (socket, frame) => socket.write(ackOf(frame)),
      async (to, frames) => {
        const files = { "x.hl7": hl7Text() + hl7Text().replace("MSG0001", "") };
        const { status, stderr } = await hl7(files, "send", "@x.hl7", "--to", to);
        expect(status).toBe(2);
        expect(stderr).toContain("message 2: MSH-10 is empty");
        expect(frames).toEqual([]);
      },
    ));

  it("sends a message that is wrong as it is, and says so", () =>
    withReceiver(
      (socket, frame) => socket.write(ackOf(frame)),
      async (to, frames) => {
        const { status, stderr } = await hl7({ "x.hl7": LATIN1 }, "send", "@x.hl7", "--to", to);
        expect(status).toBe(0);
        expect(stderr).toMatch(/^message 1: byte \d+ .*\(HL7_CHARSET_BYTES\); it is sent as it is\n$/);
        expect(frames).toEqual([LATIN1.toString()]);
      },
    ));

  it("speaks of an unknown character set only where a character of the message depends on it", () =>
    withReceiver(
      (socket, frame) => socket.write(ackOf(frame)),
      async (to) => {
        const send = async (name: string) => {
          const text = hl7Text().replace("Ottilie", name).replace("\r", "||||||LAB CODE PAGE\r");
          return (await hl7({ "x.hl7": Buffer.from(text, "latin1") }, "send", "@x.hl7", "--to", to)).stderr;
        };
        expect(await send("Ottilie")).toBe("");
        expect(await send("Ottilië")).toMatch(/^message 1: "LAB CODE PAGE" .*\(HL7_CHARSET_UNKNOWN\)/);
      },
    ));

  it("keeps every byte of a message that names ISO 8859-1 as its character set", async () => {
    const text = hl7Text().replace("Ottilie", "Ottilië").replace("\r", "||||||8859/1\r");
    const bytes = Buffer.from(text, "latin1");
    await withFolder(async (folder) => {
      await withListen(["--save", folder, "--count", "1"], async (port) => {
        const to = `127.0.0.1:${port}`;
        const { status } = await hl7({ "x.hl7": bytes }, "send", "@x.hl7", "--to", to);
        expect(status).toBe(0);
      });
      const [name = ""] = await readdir(folder);
      expect((await readFile(join(folder, name))).equals(bytes)).toBe(true);
    });
  });

  it("sends nothing of a message whose line ends differ, since each would become the end of a segment", async () => {
    const text = `${hl7Text()}NTE|1||pasted\nORC|NW|B-9\rNTE|2||end\r`;
    const { stderr, status } = await hl7({ "x.hl7": text }, "send", "@x.hl7", "--to", "127.0.0.1:1");
    expect(stderr).toMatch(/message 1: line \d+ ends with LF, most others with CR.*HL7_LINE_ENDS_MIXED/s);
    expect(status).not.toBe(0);
    const pasted = `${hl7Text()}NTE|1||pasted\n${hl7Text().replaceAll("\r", "\n")}\rNTE|2||end\r`;
    const sent = await hl7({ "x.hl7": pasted }, "send", "@x.hl7", "--to", "127.0.0.1:1");
    expect(sent.stderr).toMatch(/line \d+: ends with LF.*HL7_LINE_ENDS_MIXED/s);
  });

  it("shows the words of an answer in the characters that they were written in", () =>
    withReceiver(
      (socket, frame) =>
        socket.write(framed(ackText("AE", frame.split("|")[9] ?? "", "ERR|||102|E||||Größe\r"))),
      async (to) => {
        const sent = ["send", "@x.hl7", "--to", to] as const;
        const { stdout } = await hl7({ "x.hl7": hl7Text() }, ...sent, "--show-phi");
        expect(stdout).toContain("  ERR|||102|E||||Größe\n");
        // A receiver writes there what it likes, such as the patient's name.
        for (const more of [[], ["--json"]]) {
          const hidden = await hl7({ "x.hl7": hl7Text() }, ...sent, ...more);
          expect(hidden.stdout).toContain("ERR|||102|E||||••••");
          expect(hidden.stdout).not.toContain("Größe");
        }
      },
    ));

  it("ends each line with CR, whatever the file has", () =>
    withReceiver(
      (socket, frame) => socket.write(ackOf(frame)),
      async (to, frames) => {
        const text = hl7Text().replaceAll("\r", "\n");
        const { status, stderr } = await hl7({ "x.hl7": text }, "send", "@x.hl7", "--to", to);
        expect([status, stderr]).toEqual([0, ""]);
        expect(frames).toEqual([hl7Text()]);
      },
    ));

  it("gives up what it can't connect for, and counts it as not sent", async () => {
    const { status, stdout } = await hl7(TWO, "send", "@two.hl7", "--to", "127.0.0.1:1");
    expect(status).toBe(4);
    expect(stdout).toMatch(
      /^message 1 \(M-1\): .*MLLP_UNREACHABLE\)\n {2}Check that the receiver listens at the address of --to, .*\n0 accepted, 0 refused, 1 without an answer, 1 not sent\n$/,
    );
  });

  it("says how far it came when it is stopped, with status 1 and without waiting", () =>
    withReceiver(
      (socket, frame, nth) => nth === 1 && socket.write(ackOf(frame)),
      async (to, frames) => {
        let stop = () => {};
        const onStop = (listener: () => void) => {
          stop = listener;
          return () => undefined;
        };
        const sending = hl7In(
          { onStop },
          { "x.hl7": TWO["two.hl7"].repeat(2) },
          "send",
          "@x.hl7",
          "--to",
          to,
        );
        await eventually(() => frames.length === 2);
        stop();
        const { status, stdout } = await sending;
        expect(status).toBe(1);
        expect(stdout).toContain("message 2 (M-2): ");
        expect(stdout).toContain("stopped before the acknowledgement came");
        expect(stdout).toContain("1 accepted, 0 refused, 1 without an answer, 2 not sent\n");
      },
    ));

  it("is one whole JSON document also when it is stopped", () =>
    withReceiver(
      () => undefined,
      async (to, frames) => {
        let stop = () => {};
        const onStop = (listener: () => void) => {
          stop = listener;
          return () => undefined;
        };
        const sending = hl7In({ onStop }, TWO, "send", "@two.hl7", "--to", to, "--json");
        await eventually(() => frames.length === 1);
        stop();
        const { stdout } = await sending;
        expect(JSON.parse(stdout)).toMatchObject({
          frames: [{ verdict: "unanswered", problem: { code: "MLLP_NO_ANSWER" } }],
          counts: { unanswered: 1, unsent: 1 },
        });
      },
    ));

  it.each([
    ["HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", "; what it says looks like HTTP ("],
    ["a frame without an end", "\vMSH|^~\\&|A", "; a frame of 10 bytes came that has no end (0x1C 0x0D) ("],
    ["no frame", ackText("AA", "MSG0001"), "bytes came that are in no frame (0x0B first) ("],
    ["no acknowledgement", framed(hl7Text()), "; a frame came without a usable MSA ("],
    ["an answer to nobody", framed(ackText("AA", "")), "names no message (MSA-2 is empty) ("],
  ])("says what came instead of an answer: %s", (_, answer, said) =>
    withReceiver(
      (socket) => socket.end(answer),
      async (to) => {
        const { status, stdout } = await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", to);
        expect(status).toBe(4);
        expect(stdout).toContain(`${said}MLLP_NO_ANSWER)\n`);
        for (const secret of SECRETS) expect(stdout).not.toContain(secret);
      },
    ),
  );

  it("waits no longer for a TLS handshake than it was asked to", () =>
    withSilence(async (to) => {
      const words = ["send", "@a.hl7", "--to", to, "--tls", "--timeout", "3"];
      const { status, stdout } = await hl7({ "a.hl7": hl7Text() }, ...words);
      expect(status).toBe(4);
      expect(stdout).toContain(
        "connected, but no TLS handshake in time; look whether it speaks TLS (MLLP_UNREACHABLE)",
      );
    }));

  it("can be stopped while it connects", () =>
    withSilence(async (to, hasPeer) => {
      let stop = () => {};
      const onStop = (listener: () => void) => {
        stop = listener;
        return () => undefined;
      };
      const sending = hl7In({ onStop }, TWO, "send", "@two.hl7", "--to", to, "--tls", "--timeout", "600");
      await eventually(hasPeer);
      stop();
      expect((await sending).status).toBe(1);
    }));

  it("says what is wrong with certificates and keys before it sends anything", () =>
    withCertificates(async ({ server, client }) => {
      const files = {
        "a.hl7": hl7Text(),
        none: "no PEM",
        cert: server.cert,
        key: server.key,
        other: client.key,
      };
      const send = (...words: string[]) => hl7(files, "send", "@a.hl7", "--to", "127.0.0.1:1", ...words);
      expect(await send("--ca", "@none")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("holds no certificate in PEM form (CLI_FILE_UNREADABLE)"),
      });
      expect(await send("--cert", "@cert", "--key", "@none")).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("holds no private key in PEM form"),
      });
      expect(await send("--cert", "@cert", "--key", "@other")).toMatchObject({
        status: 2,
        stderr: expect.stringContaining("--key is not the key of --cert (CLI_USAGE)"),
      });
    }));

  it("speaks TLS where it is asked to, and says what to check where only the other side does", () =>
    withCertificates(({ ca, server }) =>
      withListener(
        { tls: { ...server, requestCert: false } },
        async ({ port }) => {
          const files = { "a.hl7": hl7Text(), ca };
          const words = ["send", "@a.hl7", "--to", `127.0.0.1:${port}`];
          expect((await hl7(files, ...words, "--ca", "@ca")).status).toBe(0);
          const plain = await hl7(files, ...words);
          expect(plain.status).toBe(4);
          expect(plain.stdout).toMatch(/MLLP_NO_ANSWER\)\n.*both sides use TLS or neither/);
          const strange = await hl7(files, ...words, "--tls");
          expect(strange.status).toBe(4);
          expect(strange.stdout).toMatch(/not trusted: `--ca` has to name .*\(MLLP_UNREACHABLE\)/);
        },
        () => Promise.resolve(ackText("AA", "MSG0001")),
      ),
    ));
});

describe("hl7 listen", () => {
  it("answers what came and ends when nobody reads what it prints any more", async () => {
    let heard = "";
    const onStderr = (text: string) => {
      heard += text;
    };
    const listening = hl7In({ onStderr, isRead: () => false }, {}, "listen", "--port", "0");
    const port = await eventually(() => /listening on 127\.0\.0\.1:(\d+)/.exec(heard)?.[1]);
    const sent = await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", `127.0.0.1:${port}`);
    expect(sent.status).toBe(0);
    expect((await listening).status).toBe(0);
    expect(heard).toContain("nobody reads what is printed any more, so it ends here\n");
  });

  it("says that a peer speaks TLS, and lets it go at once", () =>
    withListen([], async (port, _, noted) => {
      const words = ["send", "@a.hl7", "--to", `127.0.0.1:${port}`, "--tls"];
      const { status, stdout } = await hl7({ "a.hl7": hl7Text() }, ...words);
      expect(status).toBe(4);
      expect(stdout).toMatch(/look whether it speaks TLS|doesn't speak TLS/);
      expect(noted()).toContain("a peer spoke TLS where none is set up; its connection was closed\n");
    }).then(() => undefined));

  it("says that a peer speaks another protocol", () =>
    withListen([], async (port, _, noted) => {
      const enough = new AbortController();
      const asking = fetch(`http://127.0.0.1:${port}/`, { signal: enough.signal }).catch(() => undefined);
      await eventually(() => noted().includes("outside of any frame were skipped"));
      enough.abort();
      await asking;
      expect(noted()).toContain("they look like HTTP");
    }).then(() => undefined));
});

/** A peer that takes connections and says nothing. */
async function withSilence(test: (to: string, hasPeer: () => boolean) => Promise<void>): Promise<void> {
  let hasHeard = false;
  await withReceiver(
    () => undefined,
    (to) => test(to, () => hasHeard),
    (socket) =>
      socket.on("data", () => {
        hasHeard = true;
      }),
  );
}
