import { createRequire } from "node:module";

/** How the driver writes a value for the server. */
const { prepareValue } = createRequire(import.meta.url)("pg/lib/utils") as {
  prepareValue(value: unknown): string | Buffer | null;
};

const FIRST_BYTES = 65_536;
/** Execute, without a name and for all rows, and Sync behind it. */
const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);

/** What is asked of the server next, in the bytes of its protocol. */
export class Requests {
  #out = Buffer.allocUnsafe(FIRST_BYTES);
  #end = 0;

  get isEmpty(): boolean {
    return this.#end === 0;
  }

  /** All that was asked since the last time. */
  take(): Buffer {
    const taken = Buffer.from(this.#out.subarray(0, this.#end));
    this.#end = 0;
    return taken;
  }

  /** Query: statements without values. */
  script(text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#putHead(0x51, bytes + 1);
    this.#putText(text, bytes);
    this.#putByte(0);
  }

  /** Parse, and Describe, which has the server say what the statement's rows are. */
  prepare(name: string, text: string): void {
    const bytes = Buffer.byteLength(text);
    this.#putHead(0x50, name.length + 1 + bytes + 1 + 2);
    this.#putText(`${name}\0`, name.length + 1);
    this.#putText(text, bytes);
    this.#putByte(0);
    this.#putShort(0);
    this.#putHead(0x44, name.length + 2);
    this.#putText(`S${name}\0`, name.length + 2);
  }

  /** Bind, Execute and Sync. */
  execute(name: string, values: readonly unknown[]): void {
    const start = this.#end;
    this.#putHead(0x42, 0);
    this.#putText(`\0${name}\0`, name.length + 2);
    const written = values.map(prepareValue);
    this.#putShort(written.length);
    for (const each of written) this.#putShort(each instanceof Buffer ? 1 : 0);
    this.#putShort(written.length);
    for (const each of written) {
      if (each === null) this.#putNumber(-1);
      else if (typeof each === "string") {
        const bytes = Buffer.byteLength(each);
        this.#putNumber(bytes);
        this.#putText(each, bytes);
      } else {
        this.#putNumber(each.length);
        this.#put(each);
      }
    }
    this.#putShort(0);
    this.#out.writeInt32BE(this.#end - start - 1, start + 1);
    this.#put(EXECUTE_AND_SYNC);
  }

  #room(bytes: number): void {
    if (this.#end + bytes <= this.#out.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#out.length * 2, this.#end + bytes));
    this.#out.copy(larger, 0, 0, this.#end);
    this.#out = larger;
  }

  #put(bytes: Buffer): void {
    this.#room(bytes.length);
    bytes.copy(this.#out, this.#end);
    this.#end += bytes.length;
  }

  #putByte(byte: number): void {
    this.#room(1);
    this.#out[this.#end++] = byte;
  }

  #putShort(value: number): void {
    this.#room(2);
    this.#end = this.#out.writeInt16BE(value, this.#end);
  }

  #putNumber(value: number): void {
    this.#room(4);
    this.#end = this.#out.writeInt32BE(value, this.#end);
  }

  #putText(text: string, bytes: number): void {
    this.#room(bytes);
    this.#end += this.#out.write(text, this.#end, bytes);
  }

  /** A message's kind, and how long it is. */
  #putHead(kind: number, bytes: number): void {
    this.#putByte(kind);
    this.#putNumber(bytes + 4);
  }
}
