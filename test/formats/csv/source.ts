import type { CsvDialect } from "../../../src/formats/csv/dialect.ts";

/** RFC 4180 with everything found out that can be. */
export const DEFAULT_DIALECT: CsvDialect = { delimiter: "auto", quote: '"', header: true, encoding: "auto" };

/** A file's bytes in chunks of a size, as a stream would give them. */
export async function* chunksOf(bytes: Buffer | string, size = 65_536): AsyncGenerator<Buffer> {
  const buffer = Buffer.from(bytes as string);
  for (let from = 0; from < buffer.length; from += size) yield buffer.subarray(from, from + size);
}

/** A header line and the same row over and over, made as it is read. */
export async function* endlessRows(header: string, row: string, chunkCount: number): AsyncGenerator<Buffer> {
  yield Buffer.from(header);
  const chunk = Buffer.from(row.repeat(Math.ceil(65_536 / row.length)));
  for (let i = 0; i < chunkCount; i++) yield chunk;
}
