import iconv from "iconv-lite";

/** How the product says that a file is written. */
interface Written {
  readonly delimiter: string;
  readonly encoding: string;
}

/**
 * Reads the cells of a CSV file (RFC 4180) one character after the other, and shares nothing with the product's reading: what an
 * order says of where a value came from is held to it.
 */
export class CsvReader {
  readonly #cellsByLine = new Map<number, readonly string[]>();

  constructor(bytes: Buffer, { delimiter, encoding }: Written) {
    const text = iconv.decode(bytes, encoding, { stripBOM: true });
    let cells: string[] = [];
    let cell = "";
    let [line, begin] = [1, 1];
    let state: "begin" | "plain" | "quoted" | "closed" = "begin";
    const endCell = () => {
      cells.push(cell);
      cell = "";
      state = "begin";
    };
    const endRow = () => {
      endCell();
      this.#cellsByLine.set(begin, cells);
      cells = [];
    };
    for (let at = 0; at < text.length; at += 1) {
      const character = text.charAt(at);
      const isBreak = character === "\n" || character === "\r";
      if (isBreak) {
        const length = text.startsWith("\r\n", at) ? 2 : 1;
        if (state === "quoted") cell += text.slice(at, at + length);
        else endRow();
        at += length - 1;
        line += 1;
        if (cells.length === 0 && state !== "quoted") begin = line;
      } else if (state === "quoted") {
        if (character !== '"') cell += character;
        else if (text.charAt(at + 1) === '"') {
          cell += '"';
          at += 1;
        } else state = "closed";
      } else if (character === delimiter) endCell();
      else if (character === '"' && state === "begin") state = "quoted";
      else {
        cell += character;
        state = "plain";
      }
    }
    if (cell !== "" || cells.length > 0) endRow();
  }

  /** The cell of a row that begins on a line, under the heading of a name on another line. */
  valueAt(line: number, column: string, headerLine: number): string | undefined {
    const heading = (text: string) => text.trim().normalize("NFC");
    const names = this.#cellsByLine.get(headerLine)?.map(heading) ?? [];
    const at = names.indexOf(heading(column));
    return at === -1 ? undefined : (this.#cellsByLine.get(line)?.[at] ?? "");
  }

  /** The lines of rows with a value, behind a line. */
  rowsBehind(line: number): number[] {
    return [...this.#cellsByLine].flatMap(([at, cells]) =>
      at > line && cells.some((each) => each.trim() !== "") ? [at] : [],
    );
  }

  /** The first line that has this heading. */
  headerLine(column: string): number {
    for (const [line, cells] of this.#cellsByLine)
      if (cells.some((each) => each.trim().normalize("NFC") === column)) return line;
    return 0;
  }
}
