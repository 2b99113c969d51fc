import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { framed } from "../connectors/mllp/with-listener.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";
import { ackText, hl7, SECRETS, withListen, withReceiver } from "./with-hl7.ts";
import { hl7Text, PATIENT } from "./with-lab.ts";

describe("hl7 show", () => {
  it("names segments, fields, components and codes, with the patient hidden", async () => {
    const { status, stdout } = await hl7({ "a.hl7": hl7Text() }, "show", "@a.hl7");
    expect(status).toBe(0);
    expect(stdout).toContain("message 1, line 1: OML^O33, version 2.5.1, control id MSG0001, utf-8\n");
    expect(stdout).toMatch(/ {2}PID {2}Patient Identification\n/);
    expect(stdout).toMatch(/PID-3\.1 +•••• {2}Patient Identifier List, ID Number\n/);
    expect(stdout).toMatch(/PID-3\.5 +MR {2}Patient Identifier List, Identifier Type Code\n/);
    expect(stdout).toMatch(/ORC-1 +NW \(New order\/service\) {2}Order Control\n/);
    for (const secret of SECRETS) expect(stdout).not.toContain(secret);
  });

  it("shows the patient to who asks for it, and one segment only", async () => {
    const { stdout } = await hl7({ "a.hl7": hl7Text() }, "show", "@a.hl7", "--segment", "pid", "--show-phi");
    expect(stdout).toContain(PATIENT.lastName);
    expect(stdout).not.toContain("Message Header");
  });

  it("is one JSON document for programs", async () => {
    const { stdout } = await hl7({ "a.hl7": hl7Text() }, "show", "@a.hl7", "--json");
    const [message] = JSON.parse(stdout).messages;
    expect(message).toMatchObject({ ordinal: 1, type: "OML^O33", version: "2.5.1" });
    expect(message.segments[0].values[1]).toEqual({
      place: "MSH-2",
      name: "Encoding Characters",
      value: "^~\\&",
      meaning: null,
    });
  });

  it("says what is wrong with one message and shows the others, with status 1", async () => {
    const broken = hl7Text().replace("ORC|", "ORC?");
    const { status, stdout } = await hl7({ "a.hl7": broken + hl7Text() }, "show", "@a.hl7");
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^message 1, line 1: line \d+ of the message: expected a segment.*\(HL7_SEGMENT_INVALID\)\n {2}\S/,
    );
    expect(stdout).toContain("message 2, line");
  });

  it("says where a segment is not, with status 5 when no message has it", async () => {
    const other = `${hl7Text().trimEnd()}\rZXX|1\r`;
    const none = await hl7({ "a.hl7": hl7Text() }, "show", "@a.hl7", "--segment", "zxx");
    expect(none.status).toBe(5);
    expect(none.stdout).toMatch(/^message 1, line 1: .*\n {2}no segment ZXX\n$/);
    const one = await hl7({ "a.hl7": hl7Text() + other }, "show", "@a.hl7", "--segment", "ZXX");
    expect(one.status).toBe(0);
    expect(one.stdout).toMatch(/no segment ZXX\nmessage 2.*\n {2}ZXX\n/);
    const said = await hl7({ "a.hl7": hl7Text() }, "show", "@a.hl7", "--segment", "ZXX", "--json");
    expect(said.status).toBe(5);
    expect(JSON.parse(said.stdout).messages).toMatchObject([{ type: "OML^O33", segments: [] }]);
  });

  it("knows the names of a Z segment's neighbours and shows the Z segment without any", async () => {
    const text = `${hl7Text().trimEnd()}\rZXX|1|secret\r`;
    const { stdout } = await hl7({ "a.hl7": text }, "show", "@a.hl7", "--segment", "ZXX");
    expect(stdout).toMatch(/ {2}ZXX\n {4}ZXX-1 +••••\n {4}ZXX-2 +••••\n/);
  });
});

describe("hl7 send and hl7 listen", () => {
  it("print each message and its acknowledgement, with the patient hidden", async () => {
    const listened = await withListen([], async (port, printed) => {
      const files = { "a.hl7": hl7Text().repeat(2) };
      const sent = await hl7(files, "send", "@a.hl7", "--to", `127.0.0.1:${port}`);
      expect(sent.status).toBe(0);
      expect(sent.stdout).toMatch(/^message 1 \(MSG0001\): AA after \d+ ms\n {2}MSH\|/);
      expect(sent.stdout).toContain("  MSA|AA|MSG0001\n");
      expect(sent.stdout).toContain("2 accepted, 0 refused, 0 without an answer\n");
      await eventually(() => printed().includes("message 2: OML^O33, answered AA\n"));
    });
    expect(listened.status).toBe(0);
    for (const secret of SECRETS) expect(listened.stdout).not.toContain(secret);
  });

  it("end with status 1 when the other side refuses", async () => {
    await withListen(["--answer", "AE"], async (port) => {
      const { status, stdout } = await hl7(
        { "a.hl7": hl7Text() },
        "send",
        "@a.hl7",
        "--to",
        `127.0.0.1:${port}`,
        "--json",
      );
      expect(status).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({
        counts: { accepted: 0, refused: 1, unanswered: 0 },
        frames: [{ controlIds: ["MSG0001"], verdict: "refused", answers: [{ code: "AE" }] }],
      });
    });
  });

  it("end with status 4 when nobody listens", async () => {
    const { status, stdout } = await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", "127.0.0.1:1");
    expect(status).toBe(4);
    expect(stdout).toContain("ECONNREFUSED: nothing listens there (MLLP_UNREACHABLE)");
  });

  it("save what came, byte by byte, and end after this many messages", () =>
    withFolder(async (folder) => {
      let heard = "";
      const running = runCli(
        ["hl7", "listen", "--port", "0", "--count", "1", "--save", join(folder, "got")],
        {
          onStderr: (text) => {
            heard += text;
          },
        },
      );
      const port = await eventually(() => /listening on 127\.0\.0\.1:(\d+)/.exec(heard)?.[1]);
      await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", `127.0.0.1:${port}`);
      expect((await running).status).toBe(0);
      expect(await readdir(join(folder, "got"))).toEqual(["000001.hl7"]);
      expect(await readFile(join(folder, "got", "000001.hl7"), "utf8")).toBe(hl7Text());
    }));

  it("wait for the application acknowledgement after the accept acknowledgement, and judge by it", async () => {
    const text = hl7Text().replace("|P|2.5.1", "|P|2.5.1|||AL|AL");
    await withListen(["--answer", "AE"], async (port, printed) => {
      const to = ["--to", `127.0.0.1:${port}`];
      const { status, stdout } = await hl7({ "a.hl7": text }, "send", "@a.hl7", ...to);
      expect(status).toBe(1);
      expect(stdout).toMatch(/\(MSG0001\): CA, AE after .*MSA\|CA\|MSG0001\n.*MSA\|AE\|MSG0001\n/s);
      expect(stdout).toContain("0 accepted, 1 refused, 0 without an answer\n");
      const kept = await hl7({ "a.hl7": text }, "send", "@a.hl7", ...to, "--accept-only");
      expect(kept.status).toBe(0);
      expect(kept.stdout).toMatch(/\(MSG0001\): CA after /);
      const json = await hl7({ "a.hl7": text }, "send", "@a.hl7", ...to, "--json");
      expect(JSON.parse(json.stdout).frames).toMatchObject([{ answers: [{ code: "CA" }, { code: "AE" }] }]);
      await eventually(() => printed().includes("message 3: OML^O33, answered CA, then AE\n"));
    });
  });

  it("sends the messages of a batch one by one, and says so", () => {
    const messages = ["M-1", "M-2"].map((id) => hl7Text().replace("MSG0001", id));
    const batch = `BHS|^~\\&|LIMS|NORTH|CRYO|BANK|||||B-1\r${messages.join("")}BTS|2\r`;
    return withReceiver(
      (socket, frame) => socket.write(framed(ackText("AA", frame.split("|")[9] ?? ""))),
      async (to, frames) => {
        const { status, stdout, stderr } = await hl7({ "b.hl7": batch }, "send", "@b.hl7", "--to", to);
        expect(status).toBe(0);
        expect(stdout).toContain("2 accepted, 0 refused, 0 without an answer\n");
        expect(stderr).toMatch(/b\.hl7 is a batch: its 2 messages are sent one by one/);
        expect(frames).toEqual(messages);
      },
    );
  });

  it("don't wait where a message wants no answer", async () => {
    const text = hl7Text().replace("|P|2.5.1", "|P|2.5.1|||NE|NE");
    await withListen([], async (port, printed) => {
      const { status, stdout } = await hl7({ "a.hl7": text }, "send", "@a.hl7", "--to", `127.0.0.1:${port}`);
      expect(status).toBe(0);
      expect(stdout).toBe(
        "message 1 (MSG0001): sent; by MSH-15 and MSH-16 it wants no answer\n" +
          "0 accepted, 0 refused, 0 without an answer, 1 that want none\n",
      );
      await eventually(() => printed().includes("answered with nothing\n"));
    });
  });

  it("answer a batch by one batch in one frame, and count and save it", () =>
    withFolder(async (folder) => {
      const text = `BHS|^~\\&|L|N|C|B|||||B-1\r${hl7Text()}${hl7Text().replace("MSG0001", "MSG0002")}BTS|2\r`;
      let heard = "";
      const listened = await withListen(
        ["--count", "2", "--save", join(folder, "got")],
        async (port, printed) => {
          const sender = connect(port, "127.0.0.1");
          sender.write(framed(text));
          sender.on("data", (chunk: Buffer) => {
            heard += chunk.toString();
          });
          await eventually(() => printed().includes("message 2 (2 of 2 in a batch): OML^O33, answered AA\n"));
          await eventually(() => heard.endsWith("\x1c\r"));
          sender.destroy();
        },
      );
      expect(listened.status).toBe(0);
      const frames = heard.split("\x0b").map((each) => each.replace("\x1c\r", "END"));
      expect(frames).toEqual([
        "",
        expect.stringMatching(/^BHS\|.*MSA\|AA\|MSG0001\r.*MSA\|AA\|MSG0002\rBTS\|2\rEND$/s),
      ]);
      expect(await readFile(join(folder, "got", "000001.hl7"), "utf8")).toBe(text);
      for (const secret of SECRETS) expect(listened.stdout).not.toContain(secret);
    }));

  it("don't acknowledge an acknowledgement", async () => {
    const ack = "MSH|^~\\&|A|B|C|D|2026||ACK|A1|P|2.5.1|||NE|NE\rMSA|AA|1\r";
    const wantingMore = ack.replace("|NE|NE", "");
    await withListen([], async (port, printed) => {
      const sender = connect(port, "127.0.0.1");
      sender.write(framed(wantingMore) + framed(hl7Text()));
      let heard = "";
      sender.on("data", (chunk: Buffer) => {
        heard += chunk.toString();
      });
      await eventually(() => heard.includes("MSA|AA|MSG0001"));
      sender.destroy();
      expect(heard).not.toContain("MSA|AA|A1");
      await eventually(() => printed().includes("message 1: ACK, answered with nothing\n"));
    });
  });

  it.each([
    ["UTF-16", Buffer.from(`\ufeff${hl7Text()}`, "utf16le"), "it is UTF-16"],
    ["a byte that ends a frame", hl7Text().replace("ORC|NW|", "ORC|NW|\x1c"), "it holds 0x0B or 0x1C"],
    ["no control id", hl7Text().replace("MSG0001", ""), "MSH-10 is empty"],
  ])("send no message with %s, and say why", async (_, content, why) => {
    const { status, stderr } = await hl7({ "a.hl7": content }, "send", "@a.hl7", "--to", "127.0.0.1:1");
    expect(status).toBe(2);
    expect(stderr).toContain(`message 1: ${why}`);
  });

  it("save into no file, and say why", async () => {
    const { status, stderr } = await hl7({ "a.hl7": "" }, "listen", "--port", "0", "--save", "@a.hl7");
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /a\.hl7 can't be made or read as a folder \((EEXIST|ENOTDIR)\) \(CLI_FILE_UNREADABLE\)/,
    );
  });

  it("save after what an earlier run saved", () =>
    withFolder(async (folder) => {
      const got = join(folder, "got");
      await mkdir(got);
      await writeFile(join(got, "000041.hl7"), "earlier");
      await withListen(["--save", got], async (port) => {
        const { status } = await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", `127.0.0.1:${port}`);
        expect(status).toBe(0);
      });
      expect(await readdir(got)).toEqual(["000041.hl7", "000042.hl7"]);
      expect(await readFile(join(got, "000041.hl7"), "utf8")).toBe("earlier");
    }));

  it.each(["127.0.0.1", "host:", "host:0", "host:70000", "a:b:1"])("refuse the address %j", async (to) => {
    const { status, stderr } = await hl7({ "a.hl7": hl7Text() }, "send", "@a.hl7", "--to", to);
    expect(status).toBe(2);
    expect(stderr).toContain("Expected HOST:PORT");
  });
});
