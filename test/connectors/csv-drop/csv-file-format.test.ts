import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-file-format.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile-schema.ts";
import { chunksOf } from "../../formats/csv/source.ts";
import { csvProfile, mapOne } from "../../mapping/mapped.ts";

const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description\n";

const row = (number: string, label: string, subject = "P-1") =>
  `${number},STORE,NORTH,${subject},Anna,Muster,1980-01-01,${label},serum\n`;

/** What a file comes to by a profile on top of the built-in one: a line for each message, or why it is refused whole. */
async function outcomeOf(file: string, definition: ProfileDefinition = {}): Promise<string[]> {
  const profile = await csvProfile(definition);
  const bytes = Buffer.from(file);
  const format = csvFileFormat({ reading: profile.reading });
  const content = await format.examine({ sizeBytes: bytes.length, chunks: () => chunksOf(bytes) });
  const told = content.problems.map(({ code, place }) => `file refused: ${code} ${place}`);
  for await (const batch of content.batches()) {
    for (const message of batch) {
      const { verdict, orders, wishes = [], problems } = mapOne(profile, message);
      const words = [
        ...orders.map(
          ({ placerOrderNumber = "", containers }) =>
            `${placerOrderNumber} ${containers.map(({ label }) => label)}`,
        ),
        ...wishes.map(({ control, placerOrderNumber = "" }) => `${control} ${placerOrderNumber}`),
        ...new Set(problems.map(({ code }) => code)),
      ];
      told.push(`${message.place} ${verdict}: ${words.join(", ")}`);
    }
  }
  return told;
}

test.each([
  ["its second line has no end", "", "x"],
  ["its second line has no end and is in another encoding", "", "\xe9"],
  ["a quote of its second line is never closed", '"', "x,y\n"],
])("a file of a gigabyte is refused within its first megabytes when %s", async (_, opening, filling) => {
  let bytes = 0;
  async function* gigabyte() {
    yield Buffer.from(`${HEADER}O-1,STORE,NORTH,P-1,`);
    yield Buffer.from(opening, "latin1");
    const chunk = Buffer.alloc(65_536, filling, "latin1");
    for (let i = 0; i < 16_384; i++) {
      yield chunk;
      bytes += chunk.length;
    }
  }
  const { reading } = await csvProfile();
  const content = await csvFileFormat({ reading }).examine({ sizeBytes: 2 ** 30, chunks: gigabyte });
  expect(content).toMatchObject({
    sha256: undefined,
    problems: [
      {
        code: "CSV_ROW_TOO_LONG",
        message: expect.stringMatching(/^lines? 2.*: expected at most 1048576 bytes/),
      },
    ],
  });
  expect(bytes).toBeLessThan(8_388_608);
});

describe("an order is never sent with a part of its containers", () => {
  test("when only placerOrderNumber says where the number stands", async () => {
    const file = HEADER.replace("order_number", "Auftrag") + row("O-1", "V-1") + row("O-1", "V-2");
    expect(await outcomeOf(file, { placerOrderNumber: "Auftrag" })).toEqual([
      "lines 2-3 accepted: O-1 V-1,V-2",
    ]);
  });

  test("when its number is written in two ways that the profile makes one", async () => {
    const definition = {
      placerOrderNumber: { from: "order_number", as: ["trim" as const, "upper" as const] },
    };
    expect(await outcomeOf(HEADER + row("o-1", "V-1") + row("O-1", "V-2"), definition)).toEqual([
      "lines 2-3 accepted: O-1 V-1,V-2",
    ]);
  });

  test("when one of its numbers holds a character that is not seen", async () => {
    expect(await outcomeOf(HEADER + row("O-1", "V-1") + row("O-1\u200b", "V-2"))).toEqual([
      "lines 2-3 refused: MAPPING_VALUES_DISAGREE",
    ]);
  });

  test("when merged cells of a spreadsheet left its number in the first row only", async () => {
    expect(await outcomeOf(`${HEADER}${row("O-1", "V-1")},,,,,,,V-2,\n${row("O-2", "V-9")}`)).toEqual([
      "lines 2-3 refused: CSV_ORDER_INCOMPLETE",
      "line 4 accepted: O-2 V-9",
    ]);
  });

  test("when a delimiter too many has shifted the number of one of its rows", async () => {
    const header = "last_name,order_number,operation,facility,subject_code,container_label\n";
    const rows =
      '"Muster, A",O-1,STORE,NORTH,P-1,V-1\nMuster, A,O-1,STORE,NORTH,P-1,V-2\nOther,O-2,STORE,NORTH,P-2,V-3\n';
    expect(await outcomeOf(header + rows)).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      "line 3 refused: CSV_ROW_RAGGED",
      "line 4 accepted: O-2 V-3",
    ]);
  });

  test("when the number of a row with too many values stands behind a quoted delimiter", async () => {
    const header = "last_name,order_number,operation,facility,subject_code,container_label\n";
    const rows = '"Muster, A",O-1,STORE,NORTH,P-1,V-1\n"Muster, A",O-1,STORE,NORTH,P-1,V-2,x\n';
    expect(await outcomeOf(header + rows)).toEqual([
      "lines 2-3 refused: CSV_ROW_RAGGED, CSV_ORDER_INCOMPLETE",
    ]);
  });

  test("when a quote that is never closed swallows one of its rows", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}${row("O-5", "V-5")}${row("O-2", '"V-2')}${row("O-1", "V-3")}`;
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      "line 3 accepted: O-5 V-5",
      "line 4 refused: CSV_QUOTE_UNCLOSED",
    ]);
  });

  test("when a quote that is closed too late swallows one of its rows", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}${row("O-2", '"V-2')}${row("O-1", "V-3")}${row("O-3", '"V-4"x')}`;
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      "line 3 refused: CSV_ROW_QUOTES",
    ]);
  });

  test("when so much is swallowed that nobody can look through it", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}${row("O-2", '"V-2')}${row("O-3", "V-3").repeat(20_000)}`;
    expect(await outcomeOf(file)).toEqual(["file refused: CSV_ROW_TOO_LONG file"]);
  });

  test("when a line has so many values that nobody can look through them", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}${"1,".repeat(100_001)}\n`;
    expect(await outcomeOf(file)).toEqual(["file refused: CSV_ROW_RAGGED line 3"]);
  });

  test.each([
    ["O-", "CSV_ROW_RAGGED"],
    ["O-2,STORE,NO", "CSV_ROW_RAGGED"],
    [`O-2,STORE,NORTH,P-1,Anna,"Muster, D`, "CSV_QUOTE_UNCLOSED"],
  ])("when the file was cut within a row, behind %s", async (rest, code) => {
    expect(await outcomeOf(`${HEADER}${row("O-1", "V-1")}${row("O-1", "V-2")}${rest}`)).toEqual([
      `file refused: ${code} line 4`,
      "file refused: CSV_ROW_UNFINISHED file",
    ]);
  });

  test("when a quote is never closed in a file whose orders are scattered", async () => {
    const file = HEADER + row("O-1", "V-1") + row("O-2", "V-2") + row("O-1", "V-3") + row("O-3", '"V-4');
    expect(await outcomeOf(file)).toContain("file refused: CSV_ROW_UNFINISHED file");
  });

  test("when the line end between two of its rows is missing", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}${row("O-2", "V-2").trimEnd()}${row("O-1", "V-3")}`;
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      "line 3 refused: CSV_ROW_RAGGED",
    ]);
  });

  test.each(["O,-1", "O\n-1"])("when its number was torn in two, as %j", async (number) => {
    const told = await outcomeOf(HEADER + row("O-1", "V-1") + row("O-2", "V-2") + row(number, "V-3"));
    expect(told[0]).toBe("line 2 refused: CSV_ORDER_INCOMPLETE");
    expect(told[1]).toBe("line 3 accepted: O-2 V-2");
  });

  test("when a cell too many has shifted one of its rows to the right", async () => {
    const shifted = ",O-1,STORE,NORTH,P-1,Anna,Muster,1980-01-01,V-2\n";
    const file = `${HEADER}${row("O-1", "V-1")}${row("O-2", "V-9")}${shifted}${row("O-3", "V-8")}`;
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      "lines 3-4 refused: CSV_ROW_RAGGED, CSV_ORDER_INCOMPLETE",
      "line 5 accepted: O-3 V-8",
    ]);
  });

  test("when a cell too many has shifted one of its rows and all rows have the same operation", async () => {
    const header = "order_number,facility,subject_code,container_label,container_description\n";
    const rows = "O-1,NORTH,P-1,V-1,\n,O-1,NORTH,P-1,V-2\nO-2,NORTH,P-2,V-3,\n";
    expect(await outcomeOf(header + rows, { operation: { value: "STORE" } })).toEqual([
      "line 2 refused: CSV_ORDER_INCOMPLETE",
      expect.stringContaining("line 3 refused"),
      "line 4 accepted: O-2 V-3",
    ]);
  });

  test("when one of its rows was shifted to the left and lost its number, be it the order above or below", async () => {
    const shifted = "STORE,NORTH,P-1,Anna,Muster,1980-01-01,V-2,serum,\n";
    const file = HEADER + row("O-8", "V-8") + row("O-1", "V-1") + shifted + row("O-2", "V-3");
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: O-8 V-8",
      "line 3 refused: CSV_ORDER_INCOMPLETE",
      "line 4 refused: CSV_ROW_RAGGED",
      "line 5 refused: CSV_ORDER_INCOMPLETE",
    ]);
  });

  test("when its writer broke off within a row and went on behind it", async () => {
    const broken = row("O-1", "V-1").slice(0, 25);
    const file = HEADER + broken + row("O-2", "V-2") + row("O-2", "V-3") + row("O-3", "V-4");
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ROW_RAGGED",
      "line 3 refused: CSV_ORDER_INCOMPLETE",
      "line 4 accepted: O-3 V-4",
    ]);
  });

  test("and a bad row whose number looks otherwise, or that needs none, takes no other order with it", async () => {
    const file =
      HEADER +
      row("O-1", "V-1") +
      row("X9", "V-2,3") +
      row("O-2", "V-4") +
      row("", "", "P-3").replace("STORE", "REGISTER") +
      row("", "1,2", "P-4").replace("STORE", "REGISTER") +
      row("O-3", "V-5");
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: O-1 V-1",
      "line 3 refused: CSV_ROW_RAGGED",
      "line 4 accepted: O-2 V-4",
      expect.stringContaining("line 5 accepted"),
      "line 6 refused: CSV_ROW_RAGGED",
      "line 7 accepted: O-3 V-5",
    ]);
  });

  test("and an operation that no table knows shifts nothing", async () => {
    const file = HEADER + row("O-1", "V-1").replace("STORE", "FREEZE") + row("O-2", "V-2");
    expect(await outcomeOf(file)).toEqual([
      "line 2 waiting: MAPPING_OPERATION_UNKNOWN",
      "line 3 accepted: O-2 V-2",
    ]);
  });

  test("and one bad row takes no other order with it", async () => {
    const rows = Array.from({ length: 40 }, (_, i) => row(String(i + 1), `V-${i + 1}`));
    rows[16] = "17,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-9,serum,4,2\n";
    const told = await outcomeOf(HEADER + rows.join(""));
    expect(told.filter((each) => each.includes("refused"))).toEqual(["line 18 refused: CSV_ROW_RAGGED"]);
  });
});

describe("a row without a number below an order", () => {
  test("is no part of it when it makes a subject known", async () => {
    const file = `${HEADER}${row("O-1", "V-1")},REGISTER,NORTH,P-2,Eva,Test,1980-01-01,,\n`;
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: O-1 V-1",
      expect.stringContaining("line 3 accepted"),
    ]);
  });

  test("is no part of it when it is about another subject", async () => {
    const file = HEADER + row("O-1", "V-1") + row("", "V-2", "P-2");
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: O-1 V-1",
      "line 3 refused: MAPPING_VALUE_MISSING",
    ]);
  });

  test("is no part of a cancellation", async () => {
    const file = "order_number,operation\nO-1,CANCEL\n,CANCEL\n";
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: cancel O-1",
      "line 3 refused: MAPPING_VALUE_MISSING",
    ]);
  });
});

describe("quotes that pair up by chance", () => {
  test("don't hide a row in the description of another", async () => {
    const file = `${HEADER}${row("O-1", "V-1").replace("serum", '"serum')}${row("O-2", "V-2").replace("serum", 'serum"')}${row("O-3", "V-3")}`;
    expect(await outcomeOf(file)).toEqual(["line 2 refused: CSV_ROW_QUOTES", "line 4 accepted: O-3 V-3"]);
  });

  test("are told from a description of several lines", async () => {
    const note =
      '"serum, cooled, 2 ml\nshaken, not stirred, by hand, at noon, 3 times, 4 C, again, and again"';
    expect(await outcomeOf(HEADER + row("O-1", "V-1").replace("serum", note))).toEqual([
      "line 2 accepted: O-1 V-1",
    ]);
  });
});

describe("a last line without a line end", () => {
  const header = "order_number,operation,facility,subject_code,container_label";
  const rows = "\nO-1,STORE,NORTH,P-1,V-122\nO-2,STORE,NORTH,P-1,";

  test("is refused where the label may be the beginning of another", async () => {
    expect(await outcomeOf(`${header}${rows}V-12`)).toEqual([
      "line 2 accepted: O-1 V-122",
      "line 3 refused: CSV_ROW_UNFINISHED",
    ]);
  });

  test("is no cut where it is what people write below a list", async () => {
    expect(await outcomeOf(`${HEADER}${row("O-1", "V-1")}(1 row affected)`)).toEqual([
      "line 2 accepted: O-1 V-1",
      "line 3 refused: CSV_ROW_RAGGED",
    ]);
  });

  test("refuses the whole order that it belongs to", async () => {
    expect(await outcomeOf(`${header}${rows}V-12\nO-2,STORE,NORTH,P-1,V-1`)).toEqual([
      "line 2 accepted: O-1 V-122",
      "lines 3-4 refused: CSV_ROW_UNFINISHED, CSV_ORDER_INCOMPLETE",
    ]);
  });

  test.each([
    ["the value is closed by its quote", header, `${rows}"V-12"`],
    ["delimiters follow", `${header},`, `${rows.replaceAll("\n", ",\n").slice(1)}V-12,`],
    [
      "a description comes last, which does no harm",
      `${header},container_description`,
      `${rows.replace("122\n", "122,serum\n")}V-12,ser`,
    ],
  ])("is taken where %s", async (_, head, tail) => {
    expect(await outcomeOf(head + tail)).toContain("line 3 accepted: O-2 V-12");
  });

  test("is taken where it ends in an operation, whose beginning is no operation", async () => {
    expect(await outcomeOf("order_number,operation\nO-1,CANCEL\nO-2,CANCEL")).toEqual([
      "line 2 accepted: cancel O-1",
      "line 3 accepted: cancel O-2",
    ]);
  });

  test("is taken where the profile says that it is optional", async () => {
    expect(await outcomeOf(`${header}${rows}V-12`, { lastLineEnd: "optional" })).toContain(
      "line 3 accepted: O-2 V-12",
    );
  });
});

describe("a line that is a single value", () => {
  const header = "container_label,operation,facility,subject_code,order_number\n";

  test("refuses the row below, whose first value it may be the beginning of", async () => {
    expect(await outcomeOf(`${header}V-9,STORE,NORTH,P-1,O-1\nV-1\n07,STORE,NORTH,P-1,O-2\n`)).toEqual([
      "lines 2-3 refused: CSV_ROW_RAGGED",
      "line 4 refused: CSV_ROW_RAGGED",
    ]);
  });

  test("refuses the row above, whose last value it may be the end of", async () => {
    const file =
      "order_number,operation,facility,subject_code,container_label\nO-1,STORE,NORTH,P-1,V-1\n07\n";
    expect(await outcomeOf(file)).toEqual([
      "line 2 refused: CSV_ROW_RAGGED",
      "line 3 refused: CSV_ROW_RAGGED",
    ]);
  });
});

describe("a line that the profile says is no row", () => {
  const header = "order_number,operation,facility,subject_code,container_label\n";
  const rows = "O-1,STORE,NORTH,P-1,V-1\nO-2,STORE,NORTH,P-2,V-2\n";
  const taken = ["line 2 accepted: O-1 V-1", "line 3 accepted: O-2 V-2"];

  test.each(["EOF\n", "EOF", "-----,-----,-----,-----,-----\n", "2\r\n", "TRAILER,2\n"])(
    "is passed over, as %j",
    async (line) => {
      const noRow = ["EOF", "TRAILER,\\d+", "[-,]+", "\\d+"];
      expect(await outcomeOf(header + rows + line, { noRow })).toEqual(taken);
      expect(await outcomeOf(header + rows + line)).not.toEqual(taken);
    },
  );

  test("is a row all the same where it says what is to be done", async () => {
    expect(await outcomeOf(header + rows, { noRow: [".*"] })).toEqual(taken);
  });

  test("is no line of which the pattern matches a part", async () => {
    expect(await outcomeOf(`${header}${rows}O-1,EOF\n`, { noRow: ["EOF"] })).toContain(
      "lines 2, 4 refused: CSV_ROW_RAGGED, CSV_ORDER_INCOMPLETE",
    );
  });
});

describe("a header", () => {
  test("with a column that nobody needs under nearly its name is refused, since it would be left out", async () => {
    const file = HEADER.replace("date_of_birth", "Date of birth") + row("O-1", "V-1");
    expect(await outcomeOf(file)).toEqual(["file refused: CSV_COLUMN_MISSING header"]);
  });

  test("may have such a column beside the one that is meant", async () => {
    const file = HEADER.replace("container_description", "Date of birth") + row("O-1", "V-1");
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("may lack the columns that nobody needs", async () => {
    const file = "order_number,operation,facility,subject_code,container_label\nO-1,STORE,NORTH,P-1,V-1\n";
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("that comes once more, as where files were joined, is passed over", async () => {
    const file = `${HEADER}${row("O-1", "V-1")}\ufeff${HEADER}${row("O-1", "V-2")}`;
    expect(await outcomeOf(file)).toEqual(["lines 2, 4 accepted: O-1 V-1,V-2"]);
  });

  test("that comes once more with its columns in another order refuses the file", async () => {
    const other = HEADER.replace(/(order_number)(.*),(container_label)/, "$3$2,$1");
    expect(await outcomeOf(`${HEADER}${row("O-1", "V-1")}${other}${row("V-2", "O-2")}`)).toEqual([
      "file refused: CSV_HEADER_SECOND file",
    ]);
  });

  test("is passed over where the profile lists the names of a file that should have none", async () => {
    const header = HEADER.trim().split(",");
    expect(await outcomeOf(HEADER + row("O-1", "V-1"), { header })).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("parted by another delimiter than the profile's is told so", async () => {
    const profile = await csvProfile({ delimiter: "," });
    const bytes = Buffer.from("order_number;operation\nO-1;CANCEL\n");
    const content = await csvFileFormat({ reading: profile.reading }).examine({
      sizeBytes: bytes.length,
      chunks: () => chunksOf(bytes),
    });
    expect(content.problems[0]?.message).toMatch(
      /1 columns is; the line is parted by ;, and the profile's delimiter is ,$/,
    );
  });

  test("and rows may end with delimiters, as many programs write them", async () => {
    const file = (HEADER + row("O-1", "V-1")).replaceAll("\n", ",,\n");
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
  });
});
