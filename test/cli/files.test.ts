import { describe, expect, it } from "vitest";
import { closeFile, openFile } from "../support/files.ts";
import { at } from "../support/places.ts";
import { csvMessage, type Lab, PATIENT, withLab } from "./with-lab.ts";

/** A taken file of three messages with one result, and a refused one of another connector. */
function withFiles(test: (lab: Lab) => Promise<void>): Promise<void> {
  return withLab(async (lab) => {
    const { pool, take } = lab;
    await take("bench", [csvMessage(1), csvMessage(2), csvMessage(3, { container_label: "" })]);
    await pool.query("update orders set state = 'completed' where id = 1");
    await pool.query(
      "insert into deliveries (id, connector, file_name, bytes, state) values (1, 'bench', 'r1.csv', 'x', 'delivered')",
    );
    await pool.query("update outcomes set delivery_id = 1 where message_id = 1");
    const dropped = { connector: "lims", fileName: "day.hl7", sha256: "9".padStart(64, "0"), sizeBytes: 1 };
    const { fileId } = await openFile(pool, dropped);
    const problem = { code: "HL7_FILE_BINARY", place: at("byte 3"), message: "it holds a zero" } as const;
    await closeFile(pool, fileId, { status: "refused", problems: [problem] });
    await test(lab);
  });
}

const fileIds = (stdout: string) => JSON.parse(stdout).files.map(({ fileId }: { fileId: string }) => fileId);

describe("files list", () => {
  it("shows each file with what became of its messages, orders and results, newest first", () =>
    withFiles(async ({ cli }) => {
      const { status, stdout } = await cli(["files"]);
      expect(status).toBe(0);
      expect(stdout).toMatch(
        /^ID +CONNECTOR +FILE +STATUS .*\nf2 +lims +day\.hl7 +refused .* byte 3: it holds a/,
      );
      expect(stdout).toMatch(
        /\nf1 +bench +file-1\.csv +taken .* 2 accepted, 1 refused +1 done, 1 open +1 sent/,
      );
      const [, taken] = JSON.parse((await cli(["files", "list", "--json"])).stdout).files;
      expect(taken).toMatchObject({
        ...{ fileId: "f1", status: "taken", verdicts: { accepted: 2, refused: 1 }, isCut: false },
        ...{ ordersDone: 1, ordersOpen: 1, resultsSent: 1 },
      });
    }));

  it.each([
    ["--connector lims", ["f2"]],
    ["--status taken", ["f1"]],
    ["--find file-", ["f1"]],
    ["--since 1h", ["f2", "f1"]],
    ["--since 2099-01-01", []],
    ["--before f2", ["f1"]],
  ])("takes %s", (options, expected) =>
    withFiles(async ({ cli }) => {
      const { stdout } = await cli(["files", "list", ...options.split(" "), "--json"]);
      expect(fileIds(stdout)).toEqual(expected);
    }),
  );
});

describe("files show", () => {
  it("shows the messages and results of a file, and what is wrong with it, without patients' data", () =>
    withFiles(async ({ cli }) => {
      const { stdout } = await cli(["files", "show", "f1", "--limit", "2"]);
      expect(stdout).toContain("File f1, file-1.csv: taken");
      expect(stdout).toMatch(/\nMessages\n +ID +PLACE .*\n +m1 +line 2 .*\n +m2 +line 3 .*\n/);
      expect(stdout).toContain("There are more than these 2: --limit shows more.");
      expect(stdout).toMatch(/\nThe newest results about it\n +ID .*\n +d1 +bench +r1\.csv .* delivered/);
      for (const value of Object.values(PATIENT)) expect(stdout).not.toContain(value);
      const refused = await cli(["files", "show", "day.hl7"]);
      expect(refused.stdout).toMatch(
        /\nWhat is wrong with it\n +byte 3: it holds a zero \(HL7_FILE_BINARY\)/,
      );
      const { messages, results, hasMore } = JSON.parse(
        (await cli(["files", "show", "f1", "--json"])).stdout,
      );
      expect([messages.length, results.length, hasMore]).toEqual([3, 1, false]);
    }));

  it("takes the beginning of a name that only one file has, and asks for an id where several have it", () =>
    withFiles(async ({ cli, take }) => {
      expect((await cli(["files", "show", "file-1"])).stdout).toContain("File f1, file-1.csv");
      await take("bench", [csvMessage(9)]);
      const several = await cli(["files", "show", "file-"]);
      expect(several.status).toBe(2);
      expect(several.stderr).toContain("several files have a name that begins with file-");
      expect((await cli(["files", "show", "nobody.csv"])).status).toBe(5);
    }));

  it("takes a whole name though another file's begins with it", () =>
    withFiles(async ({ cli, pool }) => {
      const longer = {
        connector: "bench",
        fileName: "file-1.csv.csv",
        sha256: "8".padStart(64, "0"),
        sizeBytes: 1,
      };
      await openFile(pool, longer);
      expect((await cli(["files", "show", "file-1.csv"])).stdout).toContain("File f1, file-1.csv");
      expect((await cli(["files", "show", "file-1"])).status).toBe(2);
    }));
});
