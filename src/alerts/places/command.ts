import { spawn } from "node:child_process";
import { type AlertPlace, whyAborted } from "./place.ts";

interface CommandSettings {
  readonly name: string;
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** Where programs are looked for; all that the command gets of the environment. */
  readonly path: string | undefined;
}

/** A program that gets the news as JSON on its standard input. It is run without a shell, and takes them by ending with 0. */
export function commandPlace({ name, command, path }: CommandSettings): AlertPlace {
  const [program = "", ...args] = command;
  return {
    name,
    send: (news, signal) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, args, {
          shell: false,
          env: path === undefined ? {} : { PATH: path },
          stdio: ["pipe", "ignore", "ignore"],
          signal,
          killSignal: "SIGKILL",
        });
        child.on("error", ({ code }: NodeJS.ErrnoException) =>
          reject(
            new Error(
              signal.aborted
                ? `${program} was ended: ${whyAborted(signal)}`
                : `${program} can't be run: ${code ?? "it failed"}`,
            ),
          ),
        );
        child.on("exit", (status, endedBy) => {
          if (status === 0) resolve();
          else reject(new Error(`${program} ended with ${endedBy ?? `status ${status}`}`));
        });
        // A program that reads nothing is done when it ends.
        child.stdin.on("error", () => undefined);
        child.stdin.end(`${JSON.stringify(news)}\n`);
      }),
  };
}
