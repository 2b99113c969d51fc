import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { HEADER, hintsOf, outcomeOf, row } from "./file-outcomes.ts";

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
      "lines 2-3 refused: CSV_ORDER_INCOMPLETE, CSV_ROW_OF_REFUSED_ORDER",
      "line 4 accepted: O-2 V-9",
    ]);
  });

  test("when a row without a number that names another subject stands between it and a row of its own", async () => {
    const rows = `${row("O-1", "V-1")}${row("", "V-2", "P-2")}${row("", "V-3")}`;
    const outcome = await outcomeOf(HEADER + rows);
    expect(outcome.filter((line) => line.includes("accepted"))).toEqual([]);
    expect(outcome).toContainEqual(expect.stringMatching(/^lines? 2.*refused: CSV_ORDER_INCOMPLETE/));
  });

  test("when a cell too many has shifted the one below and all rows have the same operation", async () => {
    const header = "order_number,facility,subject_code,container_label,container_description\n";
    const rows = "O-1,NORTH,P-1,V-1,\n,O-1,NORTH,P-1,V-2\nO-2,NORTH,P-2,V-3,\n";
    expect(await outcomeOf(header + rows, { operation: { value: "STORE" } })).toEqual([
      "lines 2-3 refused: CSV_ORDER_INCOMPLETE, CSV_ROW_OF_REFUSED_ORDER",
      "line 4 accepted: O-2 V-3",
    ]);
  });

  test("when its rows stand apart", async () => {
    const file = HEADER + row("O-1", "V-1") + row("O-2", "V-2") + row("O-1", "V-3");
    expect(await outcomeOf(file)).toEqual(["line 3 accepted: O-2 V-2", "lines 2, 4 accepted: O-1 V-1,V-3"]);
  });
});

describe("rows that are whole but wrong are refused one order at a time", () => {
  test("whatever is wrong with them", async () => {
    const file =
      HEADER +
      row("O-1", "V-1") +
      row("O-2", "") +
      row("1,23E+14", "V-3").replace("1,23E+14", '"1,23E+14"') +
      row("O-4", "V-4").replace("STORE", "FREEZE") +
      row("O-5", "V-5").replace("1980-01-01", "1980-02-30") +
      row("O-6", "V-6");
    expect(await outcomeOf(file)).toEqual([
      "line 2 accepted: O-1 V-1",
      "line 3 refused: MAPPING_NO_CONTAINER",
      "line 4 refused: MAPPING_VALUE_INVALID",
      "line 5 waiting: MAPPING_OPERATION_UNKNOWN",
      "line 6 refused: MAPPING_DATE_INVALID",
      "line 7 accepted: O-6 V-6",
    ]);
  });

  test("and an order of several rows as a whole", async () => {
    const file = HEADER + row("O-1", "V-1") + row("O-2", "V-2") + row("O-1", "");
    expect(await outcomeOf(file)).toEqual([
      "line 3 accepted: O-2 V-2",
      "lines 2, 4 refused: MAPPING_NO_CONTAINER, CSV_ROW_OF_REFUSED_ORDER",
    ]);
  });
});

describe("a row that ends before columns that are often empty", () => {
  const short = "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-9\n";
  const optional: ProfileDefinition = { containers: { description: { from: "note", required: false } } };
  const HEADER_WITH_NOTE = HEADER.replace("container_description", "note");

  test("refuses its file, and the hint names the setting", async () => {
    const [hint] = await hintsOf(HEADER_WITH_NOTE + row("O-1", "V-1") + short, optional);
    expect(hint).toContain("`shortRows: fill`");
  });

  test("is filled where the profile says so", async () => {
    const definition: ProfileDefinition = { ...optional, shortRows: "fill" };
    expect(await outcomeOf(HEADER_WITH_NOTE + row("O-1", "V-1") + short, definition)).toEqual([
      "line 2 accepted: O-1 V-1",
      "line 3 accepted: O-2 V-9",
    ]);
  });

  test("is not filled where the file may end within its last value, and the setting is not proposed", async () => {
    const cut = "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-";
    const text = HEADER_WITH_NOTE + row("O-1", "V-1") + cut;
    expect(await outcomeOf(text, { ...optional, shortRows: "fill" })).toEqual([
      "file refused: CSV_ROW_UNFINISHED line 3",
    ]);
    for (const hint of await hintsOf(text, optional)) expect(hint).not.toContain("shortRows");
    expect(await outcomeOf(`${text}9,`, { ...optional, shortRows: "fill" })).toContain(
      "line 3 accepted: O-2 V-9",
    );
  });

  test.each([
    ["lacks a label", "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01\n"],
    ["is a remark", "(12 rows affected)\n"],
    ["has a value too many", "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-9,serum,4\n"],
  ])("refuses its file also then where it %s", async (_what, line) => {
    const definition: ProfileDefinition = { ...optional, shortRows: "fill" };
    expect(await outcomeOf(HEADER_WITH_NOTE + row("O-1", "V-1") + line, definition)).toEqual([
      "file refused: CSV_ROW_RAGGED line 3",
    ]);
  });
});

describe("a file whose structure is damaged is refused whole, with the line", () => {
  const before = row("O-1", "V-1");
  const after = row("O-1", "V-9") + row("O-9", "V-8");

  test.each([
    [
      "a row with a value too many",
      "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-9,serum,4\n",
      "CSV_ROW_RAGGED line 3",
    ],
    [
      "a row with a value too few",
      "O-2,STORE,NORTH,P-3,Anna,Muster,1980-01-01,V-9\n",
      "CSV_ROW_RAGGED line 3",
    ],
    [
      "a row in which the line end is missing",
      row("O-2", "V-2").trimEnd() + row("O-3", "V-3"),
      "CSV_ROW_RAGGED line 3",
    ],
    ["a row with another delimiter", row("O-2", "V-2").replaceAll(",", ";"), "CSV_ROW_RAGGED line 3"],
    ["a remark of a single cell", "(12 rows affected)\n", "CSV_ROW_RAGGED line 3"],
    [
      "a row whose values were shifted to the right by an empty one",
      ",O-1,STORE,NORTH,P-1,Anna,Muster,1980-01-01,V-2\n",
      "CSV_ROW_RAGGED line 3",
    ],
    [
      "a row whose values were shifted to the left",
      "STORE,NORTH,P-1,Anna,Muster,1980-01-01,V-2,serum,\n",
      "CSV_ROW_RAGGED line 3",
    ],
    ["a quote within a value", row("O-2", 'V"2'), "CSV_ROW_QUOTES line 3"],
    [
      "a quote that is closed too late",
      row("O-2", '"V-2') + row("O-3", '"V-4"x'),
      "CSV_ROW_QUOTES lines 3-4",
    ],
    [
      "quotes that pair up by chance and hide a row in a description",
      row("O-2", "V-2").replace("serum", '"serum') + row("O-3", "V-3").replace("serum", 'serum"'),
      "CSV_ROW_QUOTES lines 3-4",
    ],
    [
      "the column names once more, in another order",
      HEADER.replace(/(order_number)(.*),(container_label)/, "$3$2,$1"),
      "CSV_HEADER_SECOND line 3",
    ],
  ])("by %s", async (_, damage, problem) => {
    expect(await outcomeOf(HEADER + before + damage + after)).toEqual([`file refused: ${problem}`]);
  });

  test("by a quote that is never closed", async () => {
    expect(await outcomeOf(HEADER + before + row("O-2", '"V-2') + after)).toEqual([
      "file refused: CSV_QUOTE_UNCLOSED lines 3-6",
    ]);
  });

  test("by a line end within a value", async () => {
    const torn = row("O-2", "V-2").replace("V-2", "V\n-2");
    expect(await outcomeOf(HEADER + before + torn + after)).toEqual([
      "file refused: CSV_ROW_RAGGED line 3",
      "file refused: CSV_ROW_RAGGED line 4",
    ]);
  });

  test.each([
    ["O-", "CSV_ROW_RAGGED"],
    ["O-2,STORE,NO", "CSV_ROW_RAGGED"],
    [`O-2,STORE,NORTH,P-1,Anna,"Muster, D`, "CSV_QUOTE_UNCLOSED"],
  ])("by being cut short within a row, after %s", async (rest, code) => {
    expect(await outcomeOf(HEADER + before + rest)).toEqual([
      `file refused: ${code} line 3`,
      "file refused: CSV_ROW_UNFINISHED line 3",
    ]);
  });

  test("and its first hundred damaged lines are named", async () => {
    const reported = await outcomeOf(`${HEADER}${"O-1,STORE\n".repeat(150)}`);
    expect(reported).toHaveLength(100);
    expect(reported.at(-1)).toBe("file refused: CSV_ROW_RAGGED line 101");
  });

  test("but not by a description of several lines", async () => {
    const note =
      '"serum, cooled, 2 ml\nshaken, not stirred, by hand, at noon, 3 times, 4 C, again, and again"';
    expect(await outcomeOf(HEADER + row("O-1", "V-1").replace("serum", note))).toEqual([
      "line 2 accepted: O-1 V-1",
    ]);
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

describe("a last line without a line end", () => {
  const header = "order_number,operation,facility,subject_code,container_label";
  const rows = "\nO-1,STORE,NORTH,P-1,V-122\nO-2,STORE,NORTH,P-1,";

  test("refuses the file where the label may be the beginning of another", async () => {
    expect(await outcomeOf(`${header}${rows}V-12`)).toEqual(["file refused: CSV_ROW_UNFINISHED line 3"]);
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

  test("refuses the file where a date of birth behind its last delimiter may be lacking", async () => {
    const born = `${header},date_of_birth\nO-1,STORE,NORTH,P-1,V-1,1980-01-01\nO-2,STORE,NORTH,P-1,V-2,`;
    expect(await outcomeOf(born)).toEqual(["file refused: CSV_ROW_UNFINISHED line 3"]);
    expect(await outcomeOf(`${born}\n`)).toContain("line 3 accepted: O-2 V-2");
    const filled: ProfileDefinition = { shortRows: "fill" };
    const noted = born.replace("date_of_birth", "date_of_birth,note").replace("01-01", "01-01,fresh");
    expect(await outcomeOf(noted, filled)).toEqual(["file refused: CSV_ROW_UNFINISHED line 3"]);
    expect(await outcomeOf(`${noted},`, filled)).toContain("line 3 accepted: O-2 V-2");
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

  test("is a row nevertheless where it has an order number and says what is to be done", async () => {
    expect(await outcomeOf(header + rows, { noRow: ["O-.*"] })).toEqual(taken);
  });

  test.each([{ noRow: ["R-.*"] }, { trailer: { line: "R-.*", required: false } }])(
    "is a row nevertheless, though a byte of it is doubtful, for %j",
    async (definition) => {
      const doubtful = row("R-1", "V-9").replace("Muster", "J\x94rgens");
      const file = Buffer.from(`${HEADER}${doubtful}${row("O-2", "V-2")}`, "latin1");
      expect(await outcomeOf(file, definition)).toEqual(["file refused: CSV_ENCODING_DOUBTFUL line 2"]);
    },
  );

  test("is passed over where it has an operation and no order number, or a number alone", async () => {
    const noRow = [",STORE,,,", "Total,.*"];
    expect(await outcomeOf(`${header}${rows},STORE,,,\n`, { noRow })).toEqual(taken);
    const definition = { operation: { value: "STORE" }, noRow } as const;
    expect(await outcomeOf(`${header}${rows}Total,2,,,\n`, definition)).toEqual(taken);
  });

  test("may stand above the headings", async () => {
    const file = `sep=,\nExport of today\n\n${header}${rows}`;
    const below = ["line 5 accepted: O-1 V-1", "line 6 accepted: O-2 V-2"];
    expect(await outcomeOf(file, { noRow: ["Export.*"] })).toEqual(below);
    expect(await outcomeOf(file, { skipLines: 3 })).toEqual(below);
    expect(await outcomeOf(file.replace("sep=,\n", ""), { skipLines: 2 })).toEqual([
      "line 4 accepted: O-1 V-1",
      "line 5 accepted: O-2 V-2",
    ]);
  });

  test("is named by the hint where the headings stand below it", async () => {
    for (const title of ["Export\n\n", "Export;;2026\n"]) {
      expect(await hintsOf(title + header.replaceAll(",", ";") + rows)).toEqual([
        expect.stringMatching(/^CSV_(COLUMN_MISSING|HEADER_EMPTY) .*`skipLines: 1`/),
      ]);
    }
    expect(String(await hintsOf("Export\nof today\n"))).not.toContain("skipLines");
  });

  test("is told apart from a heading in another encoding, and from one that was renamed", async () => {
    const file = header.replace("container_label", "Röhrchen-Nr") + rows;
    const label = { containers: { label: "Röhrchen-Nr" } };
    expect(await hintsOf(file, { ...label, skipLines: 1 })).toEqual([
      expect.stringContaining("The headings stand in line 1, and `skipLines` is 1: leave `skipLines` out"),
    ]);
    expect(await hintsOf(`Export\n${file}`, { ...label, skipLines: 2 })).toEqual([
      expect.stringContaining("The headings stand in line 2, and `skipLines` is 2: set `skipLines: 1`"),
    ]);
    for (const encoding of ["cp850", "macintosh"]) {
      const bytes = iconv.encode(file, encoding);
      expect(await hintsOf(bytes, { ...label, encoding: "windows-1250" })).toEqual([
        expect.stringContaining(`read as ${encoding}: set \`encoding: ${encoding}\``),
      ]);
    }
    expect(await hintsOf(file, { containers: { label: "Röhrchen-Nummer" } })).toEqual([
      expect.stringContaining('set `containers: { label: "Röhrchen-Nr" }` in the profile; else'),
    ]);
    expect(await hintsOf(header + rows, { containers: { label: "Straw" } })).toEqual([
      expect.stringContaining('set `containers: { label: "HEADING" }` with that in the profile'),
    ]);
  });

  test("is no line of which the pattern matches a part", async () => {
    expect(await outcomeOf(`${header}${rows}O-1,EOF\n`, { noRow: ["EOF"] })).toEqual([
      "file refused: CSV_ROW_RAGGED line 4",
    ]);
  });
});

describe("a row with stray quotes", () => {
  const withText = (text: string) => `${HEADER}${row("A-1", "V-1").replace("serum", text)}`;
  test.each([
    ["within a value", '2" tube', "CSV_ROW_QUOTES"],
    ["around a part of a value", '"fresh" serum', "CSV_ROW_QUOTES"],
    ["that take the next column in", '"Muster",1980-01-01,V-1,"serum', "CSV_QUOTE_UNCLOSED"],
  ])("is refused, and the hint names the setting that takes it: %s", async (_, text, code) => {
    const file = withText(text).replace(/Muster,.*"Muster"/, '"Muster"');
    expect(await hintsOf(file)).toEqual([expect.stringMatching(`^${code} Each line has .*quote: ""`)]);
    expect(await outcomeOf(file, { quote: "" })).toEqual(["line 2 accepted: A-1 V-1"]);
  });

  test("is torn by two of them, and the hint names the same", async () => {
    const file = withText("serum").replace("Anna,Muster", '"Anna,Muster"');
    expect(await hintsOf(file)).toEqual([expect.stringMatching(/^CSV_ROW_RAGGED Each line .*quote: ""/)]);
    expect(await outcomeOf(file, { quote: "" })).toEqual(["line 2 accepted: A-1 V-1"]);
  });

  test("has no such hint where the columns don't come right without quotes either", async () => {
    expect(await hintsOf(withText('"a,b" serum'))).toEqual([
      expect.stringMatching(/^CSV_ROW_QUOTES Quote the whole value/),
    ]);
  });
});

describe("an ordinary export is taken", () => {
  const rows = row("O-1", "V-1") + row("O-2", "V-2").replace("serum", '"cold\nserum"');
  const taken = ["line 2 accepted: O-1 V-1", expect.stringContaining("accepted: O-2 V-2")];

  test.each([
    ["with a byte order mark", `\ufeff${HEADER}${rows}`],
    ["with CRLF", (HEADER + rows).replaceAll("\n", "\r\n")],
    ["with empty lines and rows at its end", `${HEADER}${rows}\n\n,,,,,,,,\n \n`],
    ["with semicolons", (HEADER + rows).replaceAll(",", ";")],
    ["with a DOS end-of-file mark", `${HEADER}${rows}\u001a`],
    ["with a delimiter after each row", (HEADER + rows).replace(/(\w|")\n(?=O-|$)/g, "$1,\n")],
  ])("%s", async (_, file) => {
    expect(await outcomeOf(file)).toEqual(taken);
  });

  test("with Excel's first line about the delimiter", async () => {
    const file = `sep=;\n${(HEADER + row("O-1", "V-1")).replaceAll(",", ";")}`;
    expect(await outcomeOf(file)).toEqual(["line 3 accepted: O-1 V-1"]);
  });
});
