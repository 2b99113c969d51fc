import { EventEmitter, once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import type { Screen } from "../../src/cli/io.ts";
import type { CliWorld } from "./run-cli.ts";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** A terminal's window that a test looks at, changes, and presses keys in. */
export class Window {
  readonly #events = new EventEmitter();
  readonly #pictures: string[] = [];
  #size: Size;
  written = "";

  constructor(size: Size) {
    this.#size = size;
  }

  /** For a command that is to run in this window. */
  get world(): CliWorld {
    return { isTTY: true, screen: this.#screen(), onStdout: (text) => this.#take(text) };
  }

  press(key: string): void {
    this.#events.emit("key", key);
  }

  resize(size: Size): void {
    this.#size = size;
    this.#events.emit("resize");
  }

  /** The next picture that was not looked at yet, as lines without colours. */
  async next(): Promise<string> {
    while (this.#pictures.length === 0) await once(this.#events, "picture");
    return this.#pictures.shift() ?? "";
  }

  #take(text: string): void {
    this.written += text;
    if (!text.startsWith("\u001b[H")) return;
    this.#pictures.push(stripVTControlCharacters(text).replaceAll("\r", ""));
    this.#events.emit("picture");
  }

  #screen(): Screen {
    const on = (event: string, listener: (given: string) => void) => {
      this.#events.on(event, listener);
      return () => this.#events.off(event, listener);
    };
    const size = () => this.#size;
    return {
      get columns() {
        return size().columns;
      },
      get rows() {
        return size().rows;
      },
      onKeys: (listener) => on("key", listener),
      onResize: (listener) => on("resize", () => listener()),
    };
  }
}
