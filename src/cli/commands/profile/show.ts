import path from "node:path";
import { Document, isScalar, isSeq, visit } from "yaml";
import type { LoadedProfile } from "../../../config/profiles.ts";
import { Failure } from "../../../core/failures.ts";
import { builtinProfiles } from "../../../mapping/profile/builtin.ts";
import { type Link, resolveChain, wholeOf } from "../../../mapping/profile/inherit.ts";
import type { ProfileDefinition } from "../../../mapping/profile/schema.ts";
import { readConfig } from "../../open.ts";
import type { Session } from "../../session.ts";

interface SourcedValue {
  /** Keys from the top of the profile. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** The profile that says it; undefined where it follows from another value. */
  readonly profile: string | undefined;
  /** Its file, absolute; undefined for a built-in profile. */
  readonly file: string | undefined;
  readonly line: number | undefined;
}

type Profiles = ReadonlyMap<string, LoadedProfile<ProfileDefinition>>;

/** `profile show`: as YAML that is a profile of its own, a comment beside each value. */
export async function showProfile(session: Session, name: string): Promise<undefined> {
  const profileByName: Profiles =
    name in builtinProfiles ? new Map() : readConfig(session, "mapping").profileByName;
  const links = findChain(profileByName, name);
  const { extends: _, ...definition } = wholeOf(links);
  const values = listLeaves(definition).map(([at, value]) => withSource(at, value, links, profileByName));
  const chain = links.map((link) => ({
    name: link.name,
    file: profileByName.get(link.name)?.file ?? null,
  }));
  session.result({ profile: name, chain, definition, values: values.map(valueJson) }, [
    ...chain.map(({ name: each, file }, n) => {
      const where = file === null ? "" : `: ${shown(file)}`;
      return `# ${n === 0 ? "" : "extends "}${each}${where}`;
    }),
    ...toLines(definition, values),
  ]);
  return undefined;
}

function valueJson({ path: at, value, profile, file, line }: SourcedValue) {
  return { path: at.join("."), value, profile: profile ?? null, file: file ?? null, line: line ?? null };
}

/** @throws Failure CLI_NOT_FOUND with the names that there are */
function findChain(profileByName: Profiles, name: string): readonly Link[] {
  const own = [...profileByName].map(([key, { value }]) => [key, value] as const);
  const byName = new Map<string, ProfileDefinition>([...Object.entries(builtinProfiles), ...own]);
  const definition = byName.get(name);
  if (definition === undefined) {
    const hint = `There are ${[...byName.keys()].join(", ")}.`;
    throw new Failure("CLI_NOT_FOUND", { message: `no profile is called ${name}`, hint });
  }
  const chain = resolveChain(name, definition, byName);
  if (chain.ok) return chain.links;
  throw new Failure(
    "CONFIG_INVALID",
    chain.problems.map((problem) => `profile ${name}, ${problem.message}`).join("\n"),
  );
}

type Leaf = readonly [at: readonly string[], value: unknown];

/** Every value that is no object of others; a list is one value, since it is replaced as a whole. */
function listLeaves(value: unknown, at: readonly string[] = []): Leaf[] {
  if (value === undefined) return [];
  if (!isObject(value) || Object.keys(value).length === 0) return [[at, value]];
  return Object.entries(value).flatMap(([key, each]) => listLeaves(each, [...at, key]));
}

/** The nearest profile of the chain that has this value at this place. */
function withSource(
  at: readonly string[],
  value: unknown,
  links: readonly Link[],
  profileByName: Profiles,
): SourcedValue {
  const text = JSON.stringify(value);
  const link = links.find(({ definition }) => JSON.stringify(valueAt(definition, at)) === text);
  const loaded = link && profileByName.get(link.name);
  return { path: at, value, profile: link?.name, file: loaded?.file, line: loaded?.lineOf(at) };
}

/** A bare path or list for a value counts as its `from`. */
function valueAt(definition: unknown, at: readonly string[]): unknown {
  return at.reduce<unknown>((within, key) => {
    if (isObject(within)) return within[key];
    return key === "from" ? within : undefined;
  }, definition);
}

/** Whether a value is an object of others, and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toLines(definition: object, values: readonly SourcedValue[]): string[] {
  const commentByPath = new Map(values.map((each) => [each.path.join("\0"), commentOf(each)]));
  const document = new Document(definition);
  visit(document, {
    Pair: (_, pair, parents) => {
      const at = [...parents, pair].flatMap((node) =>
        "key" in node && isScalar(node.key) ? [String(node.key.value)] : [],
      );
      const comment = commentByPath.get(at.join("\0"));
      if (comment === undefined || (!isScalar(pair.value) && !isSeq(pair.value))) return;
      if (isSeq(pair.value)) pair.value.flow = true;
      pair.value.comment = ` ${comment}`;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd().split("\n");
}

function commentOf({ profile, file, line, path: at }: SourcedValue): string {
  if (profile === undefined)
    return at[1] === "priorCode" ? "follows subject.code" : "follows from other values";
  return file === undefined ? profile : `${shown(file)}:${line}`;
}

/** A file from where the reader stands. */
function shown(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith("..") ? file : relative;
}
