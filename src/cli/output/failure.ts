import { styleText } from "node:util";
import { isConfigFailure } from "../../config/problems.ts";
import { asFailure, type Failure, hintOf } from "../../core/failures.ts";
import { asRefusal } from "../../ledger/database-failures.ts";
import { clean } from "../../operator/text.ts";
import { type ExitStatus, exitStatusOf } from "../exit-status.ts";
import type { Io } from "../io.ts";

/** Any error as a Failure. A database that lets nobody in comes as the driver's own error. */
export function toFailure(error: unknown): Failure {
  return asRefusal(error) ?? asFailure(error);
}

/** Reports an error on standard error (or as JSON on standard output) and gives the exit status. */
export function reportFailure(
  error: unknown,
  io: Io,
  { isJson, isVerbose }: { readonly isJson: boolean; readonly isVerbose: boolean },
): ExitStatus {
  const failure = toFailure(error);
  const status = exitStatusOf(failure.code);
  if (isJson) {
    io.stdout.write(`${JSON.stringify({ error: failureJson(failure) }, null, 2)}\n`);
  } else {
    io.stderr.write(`${failureLines(failure, hasColours(io)).join("\n")}\n`);
  }
  if (isVerbose) for (const stack of stacksOf(failure)) io.stderr.write(`${stack}\n`);
  return status;
}

/** A failure as a program reads it. */
export function failureJson(failure: Failure): Record<string, unknown> {
  const problems = isConfigFailure(failure) ? failure.problems : undefined;
  return {
    code: failure.code,
    message: problems ? `${problems.length} mistakes in the configuration` : failure.message,
    hint: failure.hint,
    ...(problems && {
      problems: problems.map((problem) => {
        const { code, file, line, column, path, message } = problem;
        return { code, file, line, column, path, message, hint: hintOf(problem) };
      }),
    }),
  };
}

function failureLines(failure: Failure, coloured: boolean): string[] {
  const red = (text: string) => (coloured ? styleText("red", text, { validateStream: false }) : text);
  const lines = failure.message.split("\n").map(clean);
  const message = isConfigFailure(failure)
    ? [red("The configuration can't be used:"), ...lines.map((line) => `  ${line}`)]
    : [`${red("error:")} ${lines.join("\n  ")} (${failure.code})`];
  return [...message, ...failure.hint.split("\n").map((line) => `  ${line}`)];
}

/** By standard output: who sees one stream in a terminal usually sees both. */
function hasColours(io: Io): boolean {
  return io.isTTY && !io.env.NO_COLOR && io.env.TERM !== "dumb";
}

/** Names, codes and frames; the messages of foreign errors are left out, since they may quote patients' data. */
function stacksOf(failure: Failure): string[] {
  const stacks: string[] = [];
  for (let error: unknown = failure; error instanceof Error; error = error.cause) {
    const frames = error.stack?.split("\n").filter((line) => /^\s+at /.test(line)) ?? [];
    const code = "code" in error ? ` ${String(error.code)}` : "";
    stacks.push([`${error.name}${code}`, ...frames].join("\n"));
  }
  return stacks;
}
