import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createCommands } from "../../src/cli/commands.ts";
import { EXIT } from "../../src/cli/exit-status.ts";
import { FAILURES } from "../../src/core/failures.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { listDocuments } from "./markdown.ts";

const io = { stdout: { write: () => true }, stderr: { write: () => true }, env: {}, isTTY: false };
const commands = await createCommands({ io, secrets: new SecretMask(), exitStatus: EXIT.done });
const GLOBAL_OPTIONS = [
  "--help",
  "--version",
  "--config",
  "--json",
  "--show-phi",
  "--verbose",
  "-c",
  "-h",
  "-V",
];

/** The words after the program's name, and the file that they stand in. */
interface Use {
  readonly from: string;
  readonly words: readonly string[];
}

const hints = Object.entries(FAILURES).map(([code, { hint }]) => ({ path: code, text: hint }));

/** Uses in code only: `cryobridge orders list`, in a span or in a block. A path or a user of that name is none. */
const uses = [...listDocuments(), ...hints].flatMap(({ path, text }): Use[] => {
  const code = [...text.matchAll(/^```\w*\n(.*?)^```|`([^`\n]+)`/gms)].flatMap((match) =>
    (match[1] ?? match[2] ?? "").split("\n"),
  );
  return code.flatMap((line) =>
    [
      ...line.matchAll(/(?<![\w./=-])(?<!-[uo] |--unit )cryobridge (?!cryobridge\b)([a-z-][^`|>;&)#"]*)/g),
    ].map((match) => ({
      from: path,
      words: (match[1] ?? "").trim().split(/\s+/),
    })),
  );
});

/** What is wrong with a use; undefined when the command line knows all of it. */
function faultOf({ from, words }: Use): string | undefined {
  const said = `${from}: cryobridge ${words.join(" ")}`;
  const [first = "", second = ""] = words.filter((word) => !word.startsWith("-"));
  const command = commands.find((each) => each.name() === first);
  if (!command)
    return words[0]?.startsWith("-") ? optionFault(said, words, []) : `${said}: no command ${first}`;
  const own = command.commands.find((each) => each.name() === second);
  const isWordNeeded = command.commands.length > 0 && /^[a-z]/.test(second) && !own;
  if (isWordNeeded) return `${said}: no command ${first} ${second}`;
  const children = own ? [own] : command.commands;
  return optionFault(said, words, [command, ...children]);
}

function optionFault(said: string, words: readonly string[], known: readonly Command[]): string | undefined {
  const flags = known.flatMap(({ options }) => options.flatMap(({ long, short }) => [long, short]));
  const unknown = words.filter(
    (word) => /^--?[a-z]/i.test(word) && !GLOBAL_OPTIONS.includes(word) && !flags.includes(word),
  );
  return unknown.length === 0 ? undefined : `${said}: no option ${unknown.join(", ")}`;
}

describe("commands in the documents and hints", () => {
  test("are found", () => {
    expect(uses.length).toBeGreaterThan(30);
  });

  test("exist, with their options", () => {
    expect(uses.flatMap((use) => faultOf(use) ?? [])).toEqual([]);
  });
});
