import iconv from "iconv-lite";
import { describe, expect, test } from "vitest";
import { csvFileFormat } from "../../../src/connectors/csv-drop/csv-drop.ts";
import { hintOf } from "../../../src/core/failures.ts";
import { placeText } from "../../../src/core/place.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { csvProfile, mapOne, problemsOf } from "../../mapping/mapped.ts";

const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description\n";

const row = (number: string, label: string, subject = "P-1") =>
  `${number},STORE,NORTH,${subject},Anna,Muster,1980-01-01,${label},serum\n`;

/** What a file comes to by a profile on top of the built-in one: a line for each message, or why it is refused whole. */
async function outcomeOf(file: string | Buffer, definition: ProfileDefinition = {}): Promise<string[]> {
  const profile = await csvProfile(definition);
  const bytes = Buffer.from(file as string);
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const content = await format.examine(bytes);
  const reported = content.problems.map(({ code, place }) => `file refused: ${code} ${placeText(place)}`);
  for await (const batch of content.batches()) {
    for (const message of batch) {
      const { verdict, orders, controlRequests = [], problems } = mapOne(profile, message);
      const words = [
        ...orders.map(
          ({ placerOrderNumber = "", containers }) =>
            `${placerOrderNumber} ${containers.map(({ label }) => label)}`,
        ),
        ...controlRequests.map(({ control, placerOrderNumber = "" }) => `${control} ${placerOrderNumber}`),
        ...new Set(problems.map(({ code }) => code)),
      ];
      reported.push(`${placeText(message.place)} ${verdict}: ${words.join(", ")}`);
    }
  }
  return reported;
}

/** Why a file is refused whole, and what to do about it. */
async function hintsOf(file: string | Buffer, definition: ProfileDefinition = {}): Promise<string[]> {
  const { reading } = await csvProfile(definition);
  const bytes = Buffer.from(file as string);
  const { problems } = await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes);
  return problems.map((problem) => `${problem.code} ${hintOf(problem)}`);
}

/** The descriptions of all containers of a file. */
async function descriptionsOf(bytes: Buffer, definition: ProfileDefinition): Promise<string[]> {
  const profile = await csvProfile(definition);
  const format = csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading });
  const content = await format.examine(bytes);
  const found: string[] = [];
  for await (const batch of content.batches()) {
    const orders = batch.flatMap((message) => mapOne(profile, message).orders);
    found.push(...orders.flatMap(({ containers }) => containers.map(({ description }) => description)));
  }
  return found;
}

describe("a heading with an accent", () => {
  const composed = "Num\u00e9ro";
  const apart = "Nume\u0301ro";
  const file = (heading: string) => `${HEADER.replace("order_number", heading)}${row("A-1", "V-1")}`;
  const accepted = ["line 2 accepted: A-1 V-1"];

  test.each([
    ["of two characters in the file and of one in the profile", apart, composed],
    ["of one character in the file and of two in the profile", composed, apart],
  ])("is found when it is %s", async (_, written, named) => {
    expect(await outcomeOf(file(written), { placerOrderNumber: named })).toEqual(accepted);
  });

  test("is still a heading when it comes again written the other way", async () => {
    const again = `${file(composed)}${HEADER.replace("order_number", apart)}${row("A-2", "V-2")}`;
    expect(await outcomeOf(again, { placerOrderNumber: composed })).toEqual([
      ...accepted,
      "line 4 accepted: A-2 V-2",
    ]);
  });

  test("leaves values as they are", async () => {
    const bytes = Buffer.from(file(composed).replace("serum", apart));
    expect(await descriptionsOf(bytes, { placerOrderNumber: composed })).toEqual([apart]);
  });
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

describe("a trailer that the profile names", () => {
  const header = "order_number,operation,facility,subject_code,container_label\n";
  const rows = "O-1,STORE,NORTH,P-1,V-1\nO-2,STORE,NORTH,P-2,V-2\n";
  const taken = ["line 2 accepted: O-1 V-1", "line 3 accepted: O-2 V-2"];
  const trailer = { line: "FIN,(\\d+)", count: 1 };

  test.each(["FIN,2\n", "FIN,2", "FIN,0002\r\n", "FIN,2\n\n", "FIN,2\n-----\n"])(
    "is no row, as %j",
    async (last) => {
      expect(await outcomeOf(header + rows + last, { trailer, noRow: ["-+"] })).toEqual(taken);
    },
  );

  test("is no row where it has as many columns as one", async () => {
    const line = "FIN,(\\d+),,,";
    expect(await outcomeOf(`${header}${rows}FIN,2,,,\n`, { trailer: { line, count: 1 } })).toEqual(taken);
  });

  test("may stand alone below the header", async () => {
    expect(await outcomeOf(`${header}FIN,0\n`, { trailer })).toEqual([]);
  });

  test.each([
    ["counts more rows than the file has, as where it is cut", `${rows}FIN,3\n`, "CSV_TRAILER_COUNT line 4"],
    ["counts fewer", `${rows}FIN,1\n`, "CSV_TRAILER_COUNT line 4"],
    ["is missing, as where the file is cut between two rows", rows, "CSV_TRAILER_MISSING line 3"],
    ["is missing below the header", "", "CSV_TRAILER_MISSING header"],
    ["has rows below it", `${rows}FIN,2\n${rows}`, "CSV_TRAILER_MISSING line 5"],
    [
      "comes twice, as where two files were joined",
      `${rows}FIN,2\n${header}${rows}FIN,2\n`,
      "CSV_TRAILER_MISSING line 6",
    ],
  ])("refuses the whole file when it %s", async (_, body, problem) => {
    expect(await outcomeOf(header + body, { trailer })).toEqual([`file refused: ${problem}`]);
  });

  test("is refused in words that say both numbers", async () => {
    const { reading } = await csvProfile({ trailer });
    const bytes = Buffer.from(`${header}${rows}FIN,3\n`);
    expect((await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes)).problems).toMatchObject([
      { place: "line 4", message: expect.stringContaining("counts 3 rows, and 2 rows stand above it") },
    ]);
  });

  test("has a hint where it counts fewer rows that names the lines which were counted", async () => {
    const file = `${header}${rows},,,,note\nFIN,2\n`;
    expect(await hintsOf(file, { trailer })).toEqual([
      expect.stringMatching(/^CSV_TRAILER_COUNT Counted .* line 2 to line 4\. Without .*: line 4\..*`noRow`/),
    ]);
  });

  test("has a hint where rows stand below it that says how such a file is taken", async () => {
    const file = `${header}FIN,0\n${rows}`;
    expect(await hintsOf(file, { trailer: { line: trailer.line } })).toEqual([
      expect.stringMatching(/^CSV_TRAILER_MISSING (?!.*required).*`noRow`/),
    ]);
    expect(await outcomeOf(file, { noRow: [trailer.line] })).toHaveLength(2);
  });

  test("cut short within itself refuses the file", async () => {
    expect(await outcomeOf(`${header}${rows}FI`, { trailer })).toContain(
      "file refused: CSV_TRAILER_MISSING line 4",
    );
    const many = Array.from({ length: 12 }, (_, n) => `O-${n},STORE,NORTH,P-1,V-${n}\n`).join("");
    expect(await outcomeOf(`${header}${many}FIN,1`, { trailer })).toEqual([
      "file refused: CSV_TRAILER_COUNT line 14",
    ]);
  });

  test("may be missing where the profile says so, and counts where it is there", async () => {
    const optional = { trailer: { ...trailer, required: false } };
    expect(await outcomeOf(header + rows, optional)).toEqual(taken);
    expect(await outcomeOf(`${header}${rows}FIN,3\n`, optional)).toEqual([
      "file refused: CSV_TRAILER_COUNT line 4",
    ]);
  });

  test("is not counted without count", async () => {
    expect(await outcomeOf(`${header}${rows}FIN,7\n`, { trailer: { line: "FIN,\\d+" } })).toEqual(taken);
  });

  test("is never a row that says what is to be done", async () => {
    expect(await outcomeOf(header + rows, { trailer: { line: ".*" } })).toEqual([
      "file refused: CSV_TRAILER_MISSING line 3",
    ]);
  });

  test("has to have the group that counts", async () => {
    const csv = { extends: "builtin/csv-orders" };
    expect(await problemsOf({ ...csv, trailer: { line: "FIN,\\d+", count: 1 } })).toEqual([
      "trailer.count: trailer.line has no group in parentheses; expected one around the number of rows, as in 'FIN;(\\d+)'",
    ]);
    expect(await problemsOf({ ...csv, trailer: { line: "(a+)+" } })).toMatchObject([
      expect.stringMatching(/^trailer.line: /),
    ]);
  });
});

describe("a trailer with the total of a column", () => {
  const header = "order_number;operation;facility;subject_code;container_label;Menge\n";
  const rowsOf = (...amounts: string[]) =>
    amounts.map((amount, n) => `O-${n};STORE;NORTH;P-${n};V-${n};${amount}\n`).join("");
  const sum = { line: "Summe;(.+)", sum: "Menge" };

  test.each([
    ["whole numbers", ["2", "3"], "Summe;5"],
    ["decimal commas", ["1,5", "0,75"], "Summe;2,25"],
    ["decimal points", ["1.5", "0.75"], "Summe;2.250"],
    ["thousands parted by points", ["1.200", "34,5"], "Summe;1.234,5"],
    ["thousands parted by commas", ["1,200", "34.5"], "Summe;1,234.5"],
    ["thousands parted by blanks", ["1 200", "34"], "Summe;1\u00a0234"],
    ["one side with separators of thousands", ["1000", "234"], "Summe;1.234"],
    ["signs", ["+5", "-2"], "Summe;3"],
    ["a row without a value", ["5", ""], "Summe;5"],
  ])("takes a file whose rows add up to it, with %s", async (_, amounts, last) => {
    expect(await outcomeOf(`${header}${rowsOf(...amounts)}${last}\n`, { trailer: sum })).toHaveLength(2);
  });

  test.each([
    [
      "rows are missing",
      ["1.200"],
      "Summe;1.234,5",
      'says a total of 1.234,5, and column "Menge" adds up to 1200',
    ],
    ["it says less", ["1,5", "2"], "Summe;3", 'says a total of 3, and column "Menge" adds up to 3,5'],
    ["there is none", ["1", "2"], "Summe;?", 'holds no total, and column "Menge" adds up to 3'],
    ["no row is left", [], "Summe;4", 'says a total of 4, and column "Menge" adds up to 0'],
    ["a row holds no number", ["1", "viel"], "Summe;1", "since line 3 holds no number there"],
  ])("refuses the file in words that say both numbers where %s", async (_, amounts, last, words) => {
    const { reading } = await csvProfile({ trailer: sum });
    const bytes = Buffer.from(`${header}${rowsOf(...amounts)}${last}\n`);
    const { problems } = await csvFileFormat({ maxBytes: 64_000_000, reading }).examine(bytes);
    expect(problems).toMatchObject([{ code: "CSV_TRAILER_SUM", message: expect.stringContaining(words) }]);
  });

  test("has it in the column itself where the line has no group for it", async () => {
    const trailer = { line: "Summe;.*", sum: "Menge" };
    expect(await outcomeOf(`${header}${rowsOf("2", "3")}Summe;;;;;5\n`, { trailer })).toHaveLength(2);
    expect(await outcomeOf(`${header}${rowsOf("2")}Summe;;;;;5\n`, { trailer })).toEqual([
      "file refused: CSV_TRAILER_SUM line 3",
    ]);
  });

  test("may count the rows besides, and be read by transforms", async () => {
    const from = { from: "Menge", as: { regex: { match: "^(.*) Stk$", replace: "$1" } } };
    const trailer = { line: "Summe;(\\d+);(.+)", count: 1, sum: from };
    const file = (last: string) => `${header}${rowsOf("2 Stk", "3 Stk")}${last}\n`;
    expect(await outcomeOf(file("Summe;2;5 Stk"), { trailer })).toHaveLength(2);
    expect(await outcomeOf(file("Summe;3;6 Stk"), { trailer })).toEqual([
      "file refused: CSV_TRAILER_COUNT line 4",
      "file refused: CSV_TRAILER_SUM line 4",
    ]);
  });

  test("needs its column, and one group at most that may be the total", async () => {
    const file = `${header.replace("Menge", "Anzahl")}${rowsOf("5")}Summe;5\n`;
    expect(await outcomeOf(file, { trailer: sum })).toEqual(["file refused: CSV_COLUMN_MISSING header"]);
    const csv = { extends: "builtin/csv-orders" };
    expect(await problemsOf({ ...csv, trailer: { line: "(\\d+);(\\d+)", sum: "Menge" } })).toEqual([
      "trailer.sum: trailer.line has 2 groups in parentheses that may be the total; write the others as (?:…)",
    ]);
    expect(await problemsOf({ ...csv, trailer: { line: "(\\d+)", sum: { value: "5" } } })).toEqual([
      "trailer.sum: expected one column, whose values are added",
    ]);
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

  test("is passed over where the profile lists the names of a file that should have none", async () => {
    const header = HEADER.trim().split(",");
    expect(await outcomeOf(HEADER + row("O-1", "V-1"), { header })).toEqual(["line 2 accepted: O-1 V-1"]);
  });

  test("parted by another delimiter than the profile's is refused with both", async () => {
    const profile = await csvProfile({ delimiter: "," });
    const bytes = Buffer.from("order_number;operation\nO-1;CANCEL\n");
    const content = await csvFileFormat({ maxBytes: 64_000_000, reading: profile.reading }).examine(bytes);
    expect(content.problems[0]?.message).toMatch(
      /1 columns is; its values are separated by ;, and , is expected$/,
    );
  });

  test("and rows may end with delimiters, as many programs write them", async () => {
    const file = (HEADER + row("O-1", "V-1")).replaceAll("\n", ",,\n");
    expect(await outcomeOf(file)).toEqual(["line 2 accepted: O-1 V-1"]);
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

describe("encoding auto", () => {
  const text = HEADER + row("Ü-1", "V-1");

  test.each([
    ["utf-8", false],
    ["utf-8", true],
    ["utf-16le", true],
    ["utf-16be", true],
    ["windows-1252", false],
  ])("reads %s (byte order mark: %s)", async (encoding, addBOM) => {
    const bytes = iconv.encode(text, encoding, { addBOM });
    const definition = { placerOrderNumber: { value: "1" }, containers: { description: "order_number" } };
    expect(await descriptionsOf(bytes, definition)).toEqual(["Ü-1"]);
  });

  test.each([
    [
      "two encodings stand in one file",
      3,
      iconv.encode(row("1", "ü"), "utf-8"),
      iconv.encode(row("2", "ü"), "latin1"),
    ],
    ["two encodings stand in one line", 2, iconv.encode("ü", "utf-8"), iconv.encode("ü\n", "latin1")],
    [
      "Windows-1252 has no such byte either",
      3,
      Buffer.from(row("1", "2")),
      Buffer.from(row("1", "\x81"), "latin1"),
    ],
  ])("refuses the file at the first byte that is not UTF-8 where %s", async (_, line, one, other) => {
    expect(await outcomeOf(Buffer.concat([Buffer.from(HEADER), one, other]))).toEqual([
      `file refused: CSV_BYTES line ${line}`,
    ]);
  });
});
