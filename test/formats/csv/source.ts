import type { CsvDialect } from "../../../src/formats/csv/dialect.ts";

/** RFC 4180 with everything found out that can be. */
export const DEFAULT_DIALECT: CsvDialect = { delimiter: "auto", quote: '"', header: true, encoding: "auto" };
