import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join, parse, resolve } from "node:path";
import { codeOf, Failure } from "../../../core/failures.ts";
import { hideHl7 } from "../../../operator/hl7-tree.ts";
import { SHOWN_PARTS } from "../../../operator/shown.ts";
import { clean, counted, HIDDEN } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import type { Session } from "../../session.ts";
import { type Personal, readPreview } from "../preview/read.ts";
import { viewOf } from "../preview.ts";
import { isObject } from "./show.ts";

interface TestOptions {
  readonly connector?: string;
  readonly update?: boolean;
}

/** A file to read, and the file that says what it should give. */
interface Sample {
  readonly file: string;
  readonly expectedFile: string;
  readonly connector: string;
}

/** A place at which what was found is not what was expected; undefined for nothing there. */
interface Difference {
  readonly place: string;
  readonly expected: unknown;
  readonly found: unknown;
}

interface Tested {
  readonly file: string;
  readonly connector: string;
  readonly result: "as-expected" | "different" | "written" | "without-expectation";
  readonly differences: readonly Difference[];
}

const SUFFIX = ".expected.json";
/** No test has more; what follows would be compared by its count alone. */
const MOST_MESSAGES = 10_000;
/** Differences of one file that people are shown. */
const MOST_SHOWN = 20;
/** Every run writes the same times into answers. */
const NOW_MS = Date.UTC(2026, 0, 1);

/** `profile test`: status 1 when a file gives something else than expected, or nothing is expected of it. */
export async function testProfiles(
  session: Session,
  folder: string,
  { connector, update = false }: TestOptions,
): Promise<ExitStatus | undefined> {
  const samples = await listSamples(folder, connector);
  if (samples.length === 0) {
    const why =
      "no files to read: put NAME.hl7 or NAME.csv into it, or into a folder named like the connector";
    throw new Failure("CLI_USAGE", `${folder}: ${why}`);
  }
  const tested: Tested[] = [];
  for (const sample of samples) tested.push(await testOne(session, sample, update));
  const isFailed = ({ result }: Tested) => result === "different" || result === "without-expectation";
  const failed = tested.filter(isFailed).length;
  session.result({ files: tested, failed }, [
    ...tested.flatMap((each) => linesOf(each, session)),
    `${counted(tested.length, "file")}, ${failed === 0 ? "all as expected" : `${failed} not as expected`}`,
  ]);
  return failed > 0 ? EXIT.failed : undefined;
}

/** @throws Failure CLI_FILE_UNREADABLE; CLI_USAGE for two files with one expectation */
async function listSamples(folder: string, connector: string | undefined): Promise<Sample[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    throw new Failure("CLI_FILE_UNREADABLE", `${folder}: the folder can't be read (${error.code})`);
  });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const files = entries.filter((entry) => entry.isFile() && isSample(entry.name)).map(({ name }) => name);
  const stems = files.map((name) => parse(name).name);
  const twice = stems.find((stem, n) => stems.indexOf(stem) < n);
  if (twice !== undefined)
    throw new Failure(
      "CLI_USAGE",
      `${folder}: two files are called ${twice}, and ${twice}${SUFFIX} can be of one only`,
    );
  const own = files.map((name, n) => ({
    file: join(folder, name),
    expectedFile: join(folder, `${stems[n]}${SUFFIX}`),
    connector: connector ?? basename(resolve(folder)),
  }));
  if (connector !== undefined) return own;
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
  const below = await Promise.all(folders.map(({ name }) => listSamples(join(folder, name), name)));
  return [...own, ...below.flat()];
}

function isSample(name: string): boolean {
  return !/^\.|~$|\.md$/.test(name) && !name.endsWith(SUFFIX);
}

async function testOne(session: Session, sample: Sample, mayWrite: boolean): Promise<Tested> {
  const { file, expectedFile, connector } = sample;
  const { found, personal } = await readFound(session, sample);
  const expected = await readExpected(expectedFile);
  const differences = expected === undefined ? [] : compare(expected, found, "");
  if (expected !== undefined && differences.length === 0)
    return { file, connector, result: "as-expected", differences };
  if (!mayWrite) {
    const result = expected === undefined ? "without-expectation" : "different";
    return {
      file,
      connector,
      result,
      differences: differences.map((each) => masked(each, personal, session)),
    };
  }
  await writeFile(expectedFile, `${JSON.stringify(found, null, 2)}\n`);
  return { file, connector, result: "written", differences: [] };
}

/** What a file gives, as the files with expectations have it: without hints and calls, which are not the profile's. */
async function readFound(
  session: Session,
  { file, connector }: Sample,
): Promise<{ readonly found: unknown; readonly personal: Personal }> {
  const clock = { ...session.clock, now: () => NOW_MS };
  const inClear = { ...session, clock, mayShowPhi: true };
  const preview = await readPreview(file, { connector, limit: MOST_MESSAGES }, inClear);
  const { problems, messages, fileAnswer, counts } = viewOf(preview, inClear);
  const found = {
    counts,
    problems: problems.map(withoutHint),
    messages: messages.map(({ place, verdict, problems: own, orders, orderControls, answer }) => ({
      ...{ place, verdict, problems: own.map(withoutHint) },
      orders: orders.map(({ calls: _, sources: __, result: ___, ...order }) => order),
      orderControls: orderControls.map(({ content, ...request }) => ({
        ...request,
        content: content && { ...content, sources: undefined },
      })),
      answer: answer && inLines(answer),
    })),
    fileAnswer: fileAnswer && inLines(fileAnswer),
  };
  // As it is read back from a file.
  return { found: JSON.parse(JSON.stringify(found)), personal: preview.personal };
}

function withoutHint({ code, place, message }: { code: string; place: string; message: string }) {
  return { code, place, message };
}

/** A message a line for each segment, so that a difference is in one of them. */
function inLines(answer: NonNullable<ReturnType<typeof viewOf>["fileAnswer"]>) {
  if (answer.kind === "csv") return { ...answer, lines: undefined };
  const { text, ...rest } = answer;
  return { ...rest, lines: text.split("\n") };
}

/** @throws Failure CLI_FILE_UNREADABLE */
async function readExpected(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    const why =
      error instanceof SyntaxError
        ? "is no JSON; --update writes it again once it is removed"
        : "can't be read";
    throw new Failure("CLI_FILE_UNREADABLE", { message: `${file}: ${why}`, cause: error });
  }
}

/** Where two JSON values differ: `messages[1].orders[1].subject.lastName`, counted from 1. */
function compare(expected: unknown, found: unknown, place: string): Difference[] {
  if (Array.isArray(expected) && Array.isArray(found)) {
    const longer = expected.length > found.length ? expected : found;
    return longer.flatMap((_, n) => compare(expected[n], found[n], `${place}[${n + 1}]`));
  }
  if (isObject(expected) && isObject(found)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(found)]);
    return [...keys].flatMap((key) =>
      compare(expected[key], found[key], place === "" ? key : `${place}.${key}`),
    );
  }
  return expected === found ? [] : [{ place, expected, found }];
}

/** Without what may be a patient's, unless that may be shown: a whole object may have some as well. */
function masked(
  { place, expected, found }: Difference,
  personal: Personal,
  { mayShowPhi }: Session,
): Difference {
  const mask = (value: unknown): unknown => {
    if (mayShowPhi || value === undefined || value === null) return value;
    if (typeof value === "string" && /nswer\.lines\[\d+\]$/.test(place))
      return hideHl7(value, false, personal.isFilled).join("");
    return typeof value !== "object" && isShown(place, personal) ? value : HIDDEN;
  };
  return { place, expected: mask(expected), found: mask(found) };
}

function isShown(place: string, { headings }: Personal): boolean {
  const heading = /\.rows\[\d+\]\.(.+)$/s.exec(place)?.[1];
  if (heading !== undefined) return !headings.has(heading);
  const keys: readonly string[] = place.match(/[A-Za-z]+/g) ?? [];
  return !keys.includes("subject") && SHOWN_PARTS.has(keys.at(-1) ?? "");
}

function linesOf({ file, result, differences }: Tested, session: Session): string[] {
  if (result === "as-expected") return [`${session.paint("green", "✓")} ${clean(file)}`];
  if (result === "written") return [`${session.paint("green", "✓")} ${clean(file)}: expectation written`];
  const failed = `${session.paint("red", "✗")} ${clean(file)}`;
  if (result === "without-expectation")
    return [
      `${failed}: there is no ${parse(file).name}${SUFFIX} beside it; look at \`cryobridge preview\`, then --update writes it`,
    ];
  const more = differences.length - MOST_SHOWN;
  return [
    failed,
    ...differences
      .slice(0, MOST_SHOWN)
      .flatMap(({ place, expected, found }) => [
        `    ${place}`,
        `      expected  ${inWords(expected)}`,
        `      found     ${inWords(found)}`,
      ]),
    ...(more > 0 ? [`    … and ${counted(more, "more difference")}: --json shows all`] : []),
  ];
}

function inWords(value: unknown): string {
  return value === undefined ? "nothing" : clean(value === HIDDEN ? HIDDEN : JSON.stringify(value));
}
