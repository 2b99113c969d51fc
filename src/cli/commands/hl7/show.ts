import { Failure } from "../../../core/failures.ts";
import { type Dictionary, openDictionary } from "../../../formats/hl7/dictionary.ts";
import type { Hl7FilePart } from "../../../formats/hl7/file.ts";
import { describeSegment, type ShownSegment } from "../../../operator/hl7-tree.ts";
import { clean } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { nameOfInput } from "../../io.ts";
import { JsonDocument } from "../../output/list.ts";
import type { Session } from "../../session.ts";
import { readHl7File, readMessage, typeOf } from "./messages.ts";

interface ShowOptions {
  readonly charset?: string;
  readonly segment?: string;
}

/** Messages that are shown before the next check whether they are read. */
const DRAIN_EVERY = 50;

/** `hl7 show`: status 5 when no message has the segment that was asked for. */
export async function showHl7(
  session: Session,
  path: string,
  options: ShowOptions,
): Promise<ExitStatus | undefined> {
  const { parts, isBatch } = await readHl7File(session, path);
  const view: View = { session, dictionary: openDictionary(), options };
  const document = session.isJson ? new JsonDocument(session, "messages") : undefined;
  let hasUnreadable = false;
  // A batch without messages is whole.
  let hasFound = parts.length === 0 && options.segment === undefined;
  for (const part of parts) {
    const message = describeMessage(part, view);
    hasUnreadable ||= "problem" in message;
    hasFound ||= message.segments.length > 0;
    if (document) document.add(message);
    else session.lines(linesOf(message, view));
    // Nobody wants to see the rest of what `head` has ended.
    if (part.ordinal % DRAIN_EVERY === 0 && !(await session.isRead())) return undefined;
  }
  document?.end();
  if (isBatch && parts.length === 0) session.note(`${nameOfInput(path)} is a batch without messages`);
  if (hasUnreadable) return EXIT.failed;
  return hasFound ? undefined : EXIT.notFound;
}

/** What a message is shown with. */
interface View {
  readonly session: Session;
  readonly dictionary: Dictionary;
  readonly options: ShowOptions;
}

/** A message as it is shown, with what may be a patient's hidden. */
interface Shown {
  readonly ordinal: number;
  readonly line: number;
  readonly encoding: string | null;
  readonly type?: string;
  readonly version?: string | null;
  readonly messageControlId?: string | null;
  /** Why it can't be read. */
  readonly problem?: { readonly code: string; readonly message: string; readonly hint: string };
  readonly segments: readonly ShownSegment[];
}

function describeMessage(part: Hl7FilePart, view: View): Shown {
  const { dictionary, options } = view;
  const { mayShowPhi } = view.session;
  const { ordinal, line, encoding = null, message } = readMessage(part, options.charset);
  if (message instanceof Failure) {
    const { code, message: text, hint } = message;
    return { ordinal, line, encoding, problem: { code, message: text, hint }, segments: [] };
  }
  const { version, messageControlId = null } = message.header;
  const wanted = options.segment?.toUpperCase();
  const segments = wanted === undefined ? message.segments : message.all(wanted);
  return {
    ...{ ordinal, line, encoding, type: typeOf(message), version: version ?? null, messageControlId },
    segments: segments.map((segment) => describeSegment(segment, message, { dictionary, mayShowPhi })),
  };
}

function linesOf(message: Shown, { session, options }: View): string[] {
  const { ordinal, line, encoding, type, version, messageControlId, problem, segments } = message;
  const where = `message ${ordinal}, line ${line}:`;
  if (problem)
    return [
      session.paint("red", clean(`${where} ${problem.message} (${problem.code})`)),
      `  ${problem.hint}`,
    ];
  const about = [
    type,
    version && `version ${version}`,
    messageControlId && `control id ${messageControlId}`,
    encoding,
  ];
  return [
    session.paint("bold", clean(`${where} ${about.filter(Boolean).join(", ")}`)),
    ...(segments.length === 0 ? [clean(`  no segment ${options.segment?.toUpperCase() ?? ""}`)] : []),
    ...segments.flatMap(({ segment, name: title, values }) => {
      const width = Math.max(...values.map(({ place }) => place.length));
      return [
        `  ${session.paint("cyan", segment)}${title === null ? "" : `  ${title}`}`,
        ...values.map(({ place, name, value, meaning }) => {
          const words = [clean(value), meaning === null ? "" : `(${meaning})`].filter(Boolean).join(" ");
          return `    ${place.padEnd(width)}  ${words}${name === null ? "" : session.paint("dim", `  ${name}`)}`;
        }),
      ];
    }),
  ];
}
