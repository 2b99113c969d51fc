import type { ReadStream } from "node:tty";

const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/** A key that was pressed: a letter in lower case; `q` for Ctrl-C and Ctrl-D too, which are plain keys here. */
export type KeyListener = (key: string) => void;

/**
 * Listens for single keys at a terminal. The function that is returned gives the terminal back to its lines; it must
 * be called before the process ends.
 */
export function listenForKeys(terminal: ReadStream, onKey: KeyListener): () => void {
  const onData = (chunk: Buffer) => {
    for (const key of chunk.toString("latin1"))
      onKey(key === CTRL_C || key === CTRL_D ? "q" : key.toLowerCase());
  };
  terminal.setRawMode(true);
  terminal.on("data", onData);
  terminal.resume();
  return () => {
    terminal.off("data", onData);
    terminal.setRawMode(false);
    terminal.pause();
  };
}
