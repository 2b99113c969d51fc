import { expect, test } from "vitest";
import { csvMessage, PATIENT } from "../../cli/with-lab.ts";
import { closeFile, openFile } from "../../support/files.ts";
import { at } from "../../support/places.ts";
import { withPages, wordsOf } from "./with-pages.ts";

const idsOf = (page: string) => [...page.matchAll(/href="\/files\/(f\d+)"/g)].map(([, id]) => id);

test("each file has a row with what became of its messages, orders and results", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1), csvMessage(2), csvMessage(3, { container_label: "" })]);
    await pool.query("update orders set state = 'completed' where id = 1");
    await pool.query(
      `insert into deliveries (id, connector, file_name, bytes, state) values (1, 'bench', 'r1.csv', 'x', 'delivered')`,
    );
    await pool.query("update outcomes set delivery_id = 1 where message_id = 1");
    const page = wordsOf(await operator.open("/files"));
    expect(page).toContain("file-1.csv taken");
    expect(page).toContain("2 accepted, 1 refused 1 done, 1 open 1 sent");
    const one = await operator.open("/files/f1");
    expect(one).toContain('href="/messages/m3"');
    expect(one).toContain('href="/results/d1"');
    expect(await operator.open("/files/f2")).toContain("Not found");
  }));

test("a file stands out whose message waits or whose order is parked", () =>
  withPages(async ({ lab, operator, pool }) => {
    const badge = async () => /class="badge (\w+)">taken/.exec(await operator.open("/files"))?.[1];
    await lab.take("bench", [csvMessage(1)]);
    expect(await badge()).toBe("good");
    await pool.query("update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN'");
    expect(await badge()).toBe("wait");
    expect(wordsOf(await operator.open("/files"))).toContain("1 accepted 1 parked");
    await pool.query("update orders set state = 'completed', failure_code = null");
    await pool.query("update messages set verdict = 'waiting'");
    expect(await badge()).toBe("wait");
  }));

test("files are found by the beginning of their names, by status and by connector", () =>
  withPages(async ({ lab, operator, pool }) => {
    await lab.take("bench", [csvMessage(1)]);
    await lab.take("bench", [csvMessage(2)]);
    const again = { connector: "bench", fileName: "copy.csv", sha256: "1".padStart(64, "0"), sizeBytes: 1 };
    await openFile(pool, again);
    const broken = { connector: "lims", fileName: "<b>.hl7", sha256: "9".padStart(64, "0"), sizeBytes: 1 };
    const { fileId } = await openFile(pool, broken);
    expect(wordsOf(await operator.open("/files?status=reading"))).toContain("being read");
    const problem = { code: "HL7_FILE_BINARY", place: at(""), message: "it holds a <zero>" } as const;
    await closeFile(pool, fileId, { status: "refused", problems: [problem] });
    expect(idsOf(await operator.open("/files"))).toEqual(["f5", "f4", "f1", "f2", "f1"]);
    const named = async (find: string) => idsOf(await operator.send("/files/filter", { find }));
    expect(await named("file-")).toEqual(["f2", "f1"]);
    expect(await named("_ile")).toEqual([]);
    expect(idsOf(await operator.open("/files?status=duplicate"))).toEqual(["f4", "f1"]);
    expect(idsOf(await operator.open("/files?connector=lims"))).toEqual(["f5"]);
    expect(idsOf(await operator.open("/files?before=f2"))).toEqual(["f1"]);
    const page = await operator.open("/files/f5");
    expect(page).not.toContain("<b>");
    expect(wordsOf(page)).toContain("it holds a <zero> HL7_FILE_BINARY");
  }));

test("a file's messages are shown a page at a time, in their order, without what may be a patient's", () =>
  withPages(async ({ lab, viewer }) => {
    const messages = Array.from({ length: 120 }, (_, n) => csvMessage(n + 1));
    await lab.take("bench", messages);
    const first = await viewer.open("/files/f1");
    for (const value of Object.values(PATIENT)) expect(first).not.toContain(value);
    expect(wordsOf(first)).toContain("120 accepted");
    expect(wordsOf(await viewer.open("/files"))).toContain("of the first ones 100 accepted");
    expect(first).toContain('href="/files/f1?after=50"');
    const last = wordsOf(await viewer.open("/files/f1?after=100"));
    expect(last).toContain("Messages after the first 100");
    expect(last).toContain("m101");
    expect(last).not.toContain("Next ones");
    for (const none of ["99999999999", "1.5", "x"])
      expect(wordsOf(await viewer.open(`/files/f1?after=${none}`))).toContain("m50");
  }));

test("what lies in drop folders and is not taken stands above the list", () =>
  withPages(
    async ({ operator }) => {
      const page = wordsOf(await operator.open("/files"));
      expect(page).toContain("in the drop folder of connector lims, 2 files wait for their markers");
    },
    {
      deps: {
        untaken: () => [{ connector: "lims", reason: "marker", count: 2, since: new Date(0), marker: ".ok" }],
      },
    },
  ));
