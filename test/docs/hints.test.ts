import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createCommands } from "../../src/cli/commands.ts";
import { EXIT } from "../../src/cli/exit-status.ts";
import { configJsonSchema } from "../../src/config/schema-at.ts";
import { FAILURES } from "../../src/core/failures.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { ROOT } from "./markdown.ts";

const io = { stdout: { write: () => true }, stderr: { write: () => true }, env: {}, isTTY: false };

/** A code, or a file, and what it says. */
type Said = readonly [from: string, text: string];

const REGISTRY: readonly Said[] = Object.entries(FAILURES).flatMap(([code, entry]): Said[] => [
  [code, entry.meaning],
  [code, entry.hint],
]);

/** What the program itself says beside the registry, without comments; what is filled in stands as `ID`. */
const PROGRAM: readonly Said[] = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.startsWith("core/failures/"))
  .map((name) => [
    name,
    readFileSync(join(ROOT, "src", name), "utf8")
      .replaceAll(/^ *(?:\/\*\*|\*|\/\/) .*$/gm, "")
      .replaceAll("\\`", "`")
      .replaceAll(/\$\{[^{}]*\}/g, "ID"),
  ]);

/** The spans between backticks. */
function spansOf(all: readonly Said[]): Said[] {
  return all.flatMap(([from, text]) =>
    [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]): Said => [from, span]),
  );
}

/** What stands in place of the words of a hint that a person fills in. */
const FILLED: Readonly<Record<string, string>> = {
  ...{ ID: "o17", N: "7", NUMBER: "A-1", TEXT: "why", NAME: "w1", CODE: "C", FILE: "f" },
};

/** One of the words that an option or a command takes. */
const ONE_OF: Readonly<Record<string, string>> = { "--state": "parked", resume: "submit", pause: "submit" };

/** Why a command line can't be typed as it stands; undefined when it can. No command is carried out. */
async function refusalOf(span: string): Promise<string | undefined> {
  const commands = await createCommands({ io, secrets: new SecretMask(), exitStatus: EXIT.done });
  const program = new Command("cryobridge").option("--config <file>").option("--json").option("--show-phi");
  for (const command of commands) program.addCommand(command);
  disarm(program);
  const words = span
    .replace(/^cryobridge /, "")
    .split(" ")
    .map((word, n, all) => ONE_OF[all[n - 1] ?? ""] ?? FILLED[word] ?? word);
  try {
    await program.parseAsync(words, { from: "user" });
    return undefined;
  } catch (error) {
    const why = String(error instanceof Error ? error.message : error);
    // A family of commands, named alone.
    return why === "(outputHelp)" ? undefined : why;
  }
}

/** A command whose words differ by surface, as it is typed for each: of `requests|procedures` the first, and the second. */
function typedAs(span: string): string[] {
  if (!span.includes("|")) return [span];
  return [/\|[\w-]+/g, /[\w-]+\|/g].map((other) => span.replaceAll(other, ""));
}

function disarm(command: Command): void {
  command.exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {}, outputError: () => {} });
  if (command.commands.length === 0) command.action(() => {});
  for (const each of command.commands) disarm(each);
}

const COMMANDS = new Set(
  (await createCommands({ io, secrets: new SecretMask(), exitStatus: EXIT.done })).map((each) => each.name()),
);

function isCommand(span: string): boolean {
  const [first = "", second = ""] = span.split(" ");
  return first === "cryobridge" ? COMMANDS.has(second) : COMMANDS.has(first) && second !== "";
}

describe("hints", () => {
  it("name commands that can be typed as they stand, with all that these need", async () => {
    const refused = [];
    const named = spansOf(REGISTRY).filter(([, span]) => isCommand(span));
    for (const [code, span] of named)
      for (const either of typedAs(span)) refused.push([code, either, await refusalOf(either)]);
    expect(refused.length).toBeGreaterThan(60);
    expect(refused.filter(([, , why]) => why !== undefined)).toEqual([]);
  });

  it("of what parks an order name the command with which it goes on or ends", () => {
    // These park nothing: the first keeps back all orders until it is right, the second is how an order ended.
    const others = ["SERVICE_CREDENTIALS_REFUSED", "REQUEST_REJECTED"];
    const parking = Object.entries(FAILURES).filter(
      ([code, entry]) =>
        /^(SERVICE|SUBJECT|CONTAINER|SUBMIT|REQUEST)_/.test(code) &&
        entry.class === "permanent" &&
        !others.includes(code),
    );
    expect(parking.length).toBeGreaterThan(15);
    const silent = parking.filter(
      ([, { hint }]) => !/`cryobridge (orders (retry|resolve|discard)|tasks done) /.test(hint),
    );
    expect(silent.map(([code]) => code)).toEqual([]);
  });

  it("of a refused request about an earlier order name the command that closes its task", () => {
    const refused = Object.entries(FAILURES).filter(([code]) =>
      /^(CANCEL|CONTROL)_(?!ORDER_UNKNOWN)/.test(code),
    );
    expect(refused.length).toBeGreaterThan(8);
    expect(
      refused.filter(([, { hint }]) => !hint.includes("`cryobridge tasks done ID`")).map(([code]) => code),
    ).toEqual([]);
  });

  it("of a service that can't be read, which check shows, send nobody to check", () => {
    const shown = Object.entries(FAILURES).filter(
      ([code, entry]) => code.startsWith("SERVICE_") && entry.class === "transient",
    );
    expect(shown.length).toBeGreaterThan(8);
    expect(shown.filter(([, { hint }]) => hint.includes("cryobridge check")).map(([code]) => code)).toEqual(
      [],
    );
  });

  it("name settings that exist, with values that these take", () => {
    const named = spansOf(REGISTRY).filter(([, span]) => isSetting(span));
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(([, span]) => !isKnown(span))).toEqual([]);
  });
});

it("the program names commands that can be typed as they stand", async () => {
  const refused = [];
  const named = spansOf(PROGRAM).filter(
    ([, span]) => /^cryobridge .*[^:]$/.test(span) && !span.endsWith(" shows more") && isCommand(span),
  );
  for (const [file, span] of named) refused.push([file, span, await refusalOf(span)]);
  expect(refused.length).toBeGreaterThan(30);
  expect(refused.filter(([, , why]) => why !== undefined)).toEqual([]);
});

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly [key: string]: unknown;
}

const SCHEMA = configJsonSchema({ profileSchema }) as Schema & {
  readonly definitions?: Readonly<Record<string, Schema>>;
};

/** Each setting with the names of those that it is in, and each word that a setting takes. */
const SETTINGS: { readonly path: readonly string[]; readonly schema: Schema }[] = [];
const VALUES = new Set<unknown>();
collect(SCHEMA, [], []);

function collect(schema: Schema, path: readonly string[], within: readonly string[]): void {
  const { $ref } = schema;
  if ($ref !== undefined && !within.includes($ref)) {
    const name = $ref.replace("#/definitions/", "");
    collect(SCHEMA.definitions?.[name] ?? {}, path, [...within, $ref]);
  }
  for (const value of [...(schema.enum ?? []), schema.const]) VALUES.add(value);
  for (const [key, value] of Object.entries(schema)) {
    if (key === "definitions" || typeof value !== "object" || value === null) continue;
    if (key === "properties") {
      for (const [name, child] of Object.entries(value as Record<string, Schema>)) {
        SETTINGS.push({ path: [...path, name], schema: child });
        collect(child, [...path, name], within);
      }
    } else
      for (const child of [value].flat())
        if (typeof child === "object") collect(child as Schema, path, within);
  }
}

/** A setting by its name, or with a value. */
function isSetting(span: string): boolean {
  return /^[a-z][a-zA-Z-]*(\.[a-z][A-Za-z]*)*(: .+)?$/.test(span) && !isCommand(span) && !OTHERS.has(span);
}

/** What else hints name: a file, a user, what the service's lists are asked with, and the last of several settings' values. */
const OTHERS: ReadonlySet<string> = new Set(["password", "page", "subjectCode", "cryobridge", "as-received"]);

const ajv = new Ajv({ strict: false, validateFormats: false });

function isKnown(span: string): boolean {
  const [, name = "", value] = /^([^:]+)(?:: (.+))?$/.exec(span) ?? [];
  const keys = name.split(".");
  const found = SETTINGS.filter(({ path }) => keys.every((key, n) => path.at(n - keys.length) === key));
  if (value === undefined) return found.length > 0 || VALUES.has(span);
  const given = parse(value.replaceAll("…", "utf-8"));
  return found.some(({ schema }) => ajv.validate({ ...schema, definitions: SCHEMA.definitions }, given));
}
