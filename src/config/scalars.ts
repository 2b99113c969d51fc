import { z } from "zod";
import { formatDuration, parseDuration } from "../core/duration.ts";
import { Secret } from "./secret.ts";

interface DurationLimits {
  readonly min?: string;
  readonly max?: string;
}

/** A number that the key of its {@link section} says to be milliseconds: a number in all but its type. */
type Ms = number & { readonly unit: "ms" };

const durations = new WeakSet<z.core.$ZodType>();

/** A duration such as `15s`; milliseconds after validation, and in a {@link section} under a key that ends so. */
export function duration(description: string, limits: DurationLimits = {}) {
  const minMs = parseDuration(limits.min ?? "0ms") ?? 0;
  const maxMs = parseDuration(limits.max ?? "100y") ?? 0;
  const form = { error: "expected a duration such as 500ms, 15s, 2m, 1h, 90d or 2y" };
  const schema = z
    .string(form)
    .regex(/^\d+(\.\d+)?(ms|s|m|h|d|y)$/, form)
    .transform((text) => (parseDuration(text) ?? 0) as Ms)
    .refine((ms) => ms >= minMs, { error: `expected ${formatDuration(minMs)} or longer` })
    .refine((ms) => ms <= maxMs, { error: `expected ${formatDuration(maxMs)} or shorter` })
    .describe(description);
  durations.add(schema);
  return schema;
}

/** The same where the description says what it is when it is left out. */
export function durationOr(usual: string, description: string) {
  return duration(description)
    .optional()
    .transform((ms) => ms ?? ((parseDuration(usual) ?? 0) as Ms));
}

/** Whether a schema is that of a duration, or of a list of some. */
function isDuration(schema: z.core.$ZodType): boolean {
  if (durations.has(schema)) return true;
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if ("innerType" in def) return isDuration(def.innerType);
  if (def.type === "pipe") return isDuration(def.in);
  return def.type === "array" && isDuration(def.element);
}

type Bare<Value> = Value extends Ms ? number : Value extends readonly Ms[] ? readonly number[] : Value;
type WithUnits<Given> = {
  readonly [Key in keyof Given as NonNullable<Given[Key]> extends Ms | readonly Ms[]
    ? `${Key & string}Ms`
    : Key]: Bare<Given[Key]>;
};

/** Keys of sections that say their unit, and how people write them; a name that somebody gave is none of them. */
const written = new Map<string, string>();

/** A section without other keys than these. The key of a duration says its unit after validation: `timeout` is `timeoutMs`. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  const whole = z.strictObject(shape);
  const withUnit = new Map(
    Object.entries(shape).map(([key, schema]) => [key, isDuration(schema) ? `${key}Ms` : key]),
  );
  for (const [key, read] of withUnit) if (read !== key) written.set(read, key);
  return whole.transform(
    (given) =>
      Object.fromEntries(
        Object.entries(given).map(([key, value]) => [withUnit.get(key) ?? key, value]),
      ) as WithUnits<z.output<typeof whole>>,
  );
}

/** A key of a {@link section} as people write it. */
export function writtenKey(key: string): string {
  return written.get(key) ?? key;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** A size such as `64MB` (units of 1024); bytes after validation. */
export function size(description: string, { max }: { readonly max?: string } = {}) {
  const bytesOf = (text: string) => Number(text.slice(0, -2)) * (UNIT_BYTES[text.slice(-2)] ?? 0);
  const form = { error: "expected a size such as 500KB, 64MB or 2GB" };
  return z
    .string(form)
    .regex(/^\d+(KB|MB|GB)$/, form)
    .transform(bytesOf)
    .refine((bytes) => bytes > 0 && Number.isSafeInteger(bytes), {
      error: "expected a size above 0, such as 64MB",
    })
    .refine((bytes) => max === undefined || bytes <= bytesOf(max), { error: `expected ${max} or less` })
    .describe(description);
}

/** A credential; wrapped in a {@link Secret} after validation. Write it as `${NAME}`. */
export function secret(description: string, minLength = 1) {
  return z
    .string()
    .min(minLength)
    .transform((text) => new Secret(text))
    .meta({ description, writeOnly: true });
}

const secretUrls = new WeakSet<z.core.$ZodType>();

/** Whether a text that a schema holds is a credential. Of an address it is one with a password. */
export function isCredential(schema: z.core.$ZodType, text: string): boolean {
  if (secretUrls.has(schema)) return URL.canParse(text) && new URL(text).password !== "";
  return z.globalRegistry.get(schema)?.writeOnly === true;
}

/** A database or queue address that may hold a password; wrapped in a {@link Secret}. */
export function secretUrl(description: string, protocols: readonly string[]) {
  const example = `${protocols[0]}//user:password@host`;
  const schema = z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
      error: `expected an address that begins with ${protocols.map((each) => `${each}//`).join(" or ")}, such as ${example}`,
    })
    .transform((text) => new Secret(text))
    .meta({ description, writeOnly: true });
  secretUrls.add(schema);
  return schema;
}

/** An http or https address without query and credentials; without its trailing slashes after validation. */
export function httpUrl(description: string) {
  return z
    .string()
    .refine(isPlainHttpUrl, {
      error: "expected an address such as https://storage.example.org, without user, password, ? and #",
    })
    .transform((text) => text.replace(/\/+$/, ""))
    .describe(description);
}

function isPlainHttpUrl(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || /[?#\s]/.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return url.username === "" && url.password === "";
}

const paths = new WeakSet<z.core.$ZodType>();

/** A folder or file; a relative one starts at the folder of the configuration file, and is absolute once that was read. */
export function filePath(description: string) {
  const schema = z
    .string()
    .min(1)
    .refine((text) => !text.includes("\0"), { error: "a path can't hold a NUL character" })
    .describe(description);
  paths.add(schema);
  return schema;
}

/** Whether a schema is that of a folder or file. */
export function isFilePath(schema: z.core.$ZodType): boolean {
  return paths.has(schema);
}

/** Rights of folders in octal, such as `0750`; a number after validation. All of them for the owner, no writing for others. */
export function folderMode(description: string) {
  return z
    .string({ error: 'expected rights in quotes, such as "0750"' })
    .regex(/^[02]?7[0-7][0145]$/, {
      error: 'expected rights such as "0750" or "2770": 7 for the owner, and no writing for others',
    })
    .transform((text) => Number.parseInt(text, 8))
    .describe(description);
}

/** A TCP port to reach. */
export function port(description: string) {
  return z.int().min(1).max(65_535).describe(description);
}

/** A host name or address, without port and scheme. */
export function host(description: string) {
  return z
    .string()
    .regex(/^[A-Za-z0-9_.:[\]-]+$/, { error: "expected a host name or an address alone, such as 127.0.0.1" })
    .describe(description);
}

const encodingName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_:-]*$/, {
  error: "expected the name of an encoding, such as utf-8 or windows-1252",
});

const forcedEncoding = z.strictObject({
  name: encodingName.describe("Name of the encoding."),
  forced: z
    .boolean()
    .default(false)
    .describe("Whether bytes that look like UTF-8 are read in it as well, instead of being refused."),
});

/** A character encoding, and whether it holds for bytes that look like UTF-8, too. */
export interface EncodingSetting {
  readonly name: string;
  readonly isForced: boolean;
}

/** A character encoding by its name, or with `forced`. */
export function encoding(description: string) {
  return z
    .union([encodingName, forcedEncoding], {
      error: "expected the name of an encoding, such as windows-1252, or { name: …, forced: true }",
    })
    .transform(
      (given): EncodingSetting =>
        typeof given === "string"
          ? { name: given, isForced: false }
          : { name: given.name, isForced: given.forced },
    )
    .describe(description);
}

/** Whether the sender never ends the last segment of an HL7 message. */
export function unterminated() {
  return z
    .enum(["refuse", "accept"])
    .default("refuse")
    .describe(
      "A message whose last segment has no line end may be cut: refuse it, or, where the sender never ends it, accept it. In a file it is refused nevertheless where values of the order are read from that segment.",
    );
}

/** Whether the segments of a sender's HL7 messages may end in different ways. */
export function mixedLineEnds() {
  return z
    .enum(["refuse", "accept"])
    .default("refuse")
    .describe(
      "A message whose segments end in different ways (CR, LF, CRLF) may hold text with line breaks that looks like segments: refuse it, or, where the sender's do, accept it unless a line break may part a field that is read.",
    );
}
