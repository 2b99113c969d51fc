import type { Command } from "commander";
import { Failure } from "../core/failures.ts";
import { type Dictionary, loadDictionary } from "../formats/hl7/dictionary.ts";
import type { Hl7Message, Segment } from "../formats/hl7/message.ts";
import { type Leaf, leavesOf } from "../formats/hl7/tree.ts";
import { clean } from "./clean.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type FileMessage, nameOf as fileName, readHl7File, readMessage, typeOf } from "./hl7-file.ts";
import { shownValue } from "./hl7-phi.ts";
import { JsonDocument } from "./json-document.ts";
import type { Session } from "./session.ts";

interface ShowOptions {
  readonly charset?: string;
  readonly segment?: string;
}

/** Messages that are shown before it is looked whether they are read. */
const DRAIN_EVERY = 50;

/** `hl7 show`: status 5 when no message has the segment that was asked for. */
export async function showHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const options = command.opts<ShowOptions>();
  const { parts, isBatch } = await readHl7File(session, path);
  const dictionary = await loadDictionary();
  const document = session.isJson ? new JsonDocument(session, "messages") : undefined;
  let hasUnreadable = false;
  // A batch without messages is whole.
  let hasFound = parts.length === 0 && options.segment === undefined;
  for (const part of parts) {
    const each = readMessage(part, options.charset);
    hasUnreadable ||= each.message instanceof Failure;
    hasFound ||= hasSegments(each, options);
    if (document) document.add(messageJson(each, dictionary, options, session));
    else session.line(messageLines(each, dictionary, options, session).join("\n"));
    // Nobody wants to see the rest of what `head` has ended.
    if (part.ordinal % DRAIN_EVERY === 0 && !(await session.isRead())) return undefined;
  }
  document?.end();
  if (isBatch && parts.length === 0) session.note(`${fileName(path)} is a batch without messages`);
  if (hasUnreadable) return EXIT.failed;
  return hasFound ? undefined : EXIT.notFound;
}

function hasSegments({ message }: FileMessage, options: ShowOptions): boolean {
  return !(message instanceof Failure) && segmentsOf(message, options).length > 0;
}

function segmentsOf(message: Hl7Message, { segment }: ShowOptions): readonly Segment[] {
  return segment === undefined ? message.segments : message.all(segment.toUpperCase());
}

/** What a leaf is called: its field, and the deepest part of it that has a name. */
function nameOf(
  dictionary: Dictionary,
  message: Hl7Message,
  segment: Segment,
  leaf: Leaf,
): string | undefined {
  const { version } = message.header;
  const field = dictionary.field(version, segment.name, leaf.field);
  if (leaf.component === undefined) return field;
  const { component, subcomponent } = leaf;
  const part =
    (subcomponent === undefined
      ? undefined
      : dictionary.component(version, segment.name, leaf.field, component, subcomponent)) ??
    dictionary.component(version, segment.name, leaf.field, component);
  return [field, part].filter((name) => name !== undefined).join(", ") || undefined;
}

function messageJson(each: FileMessage, dictionary: Dictionary, options: ShowOptions, session: Session) {
  const { ordinal, line, encoding, message } = each;
  if (message instanceof Failure) {
    return {
      ordinal,
      line,
      encoding: null,
      problem: { code: message.code, message: message.message, mend: message.mend },
    };
  }
  const { version } = message.header;
  return {
    ordinal,
    line,
    encoding: encoding ?? null,
    type: typeOf(message),
    version: version ?? null,
    segments: segmentsOf(message, options).map((segment) => ({
      segment: segment.name,
      name: dictionary.segment(version, segment.name) ?? null,
      values: leavesOf(segment, message).map((leaf) => ({
        place: leaf.place,
        name: nameOf(dictionary, message, segment, leaf) ?? null,
        value: shownValue(segment.name, leaf, leaf.value, session.mayShowPhi),
        meaning: meaningOf(dictionary, message, segment, leaf, session.mayShowPhi) ?? null,
      })),
    })),
  };
}

/** What a code stands for; nothing for a value that is hidden. */
function meaningOf(
  dictionary: Dictionary,
  message: Hl7Message,
  segment: Segment,
  leaf: Leaf,
  mayShowPhi: boolean,
): string | undefined {
  if (leaf.component !== undefined && leaf.component > 1) return undefined;
  if (shownValue(segment.name, leaf, leaf.value, mayShowPhi) !== leaf.value) return undefined;
  return dictionary.code(message.header.version, segment.name, leaf.field, leaf.value);
}

function messageLines(
  each: FileMessage,
  dictionary: Dictionary,
  options: ShowOptions,
  session: Session,
): string[] {
  const { ordinal, line, encoding, message } = each;
  if (message instanceof Failure) {
    const what = clean(`message ${ordinal}, line ${line}: ${message.message} (${message.code})`);
    return [session.paint("red", what), `  ${message.mend}`];
  }
  const { version, messageControlId } = message.header;
  const about = [
    typeOf(message),
    version && `version ${version}`,
    messageControlId && `control id ${messageControlId}`,
    encoding,
  ];
  const heading = clean(`message ${ordinal}, line ${line}: ${about.filter(Boolean).join(", ")}`);
  const lines = [session.paint("bold", heading)];
  const segments = segmentsOf(message, options);
  if (segments.length === 0) lines.push(clean(`  no segment ${options.segment?.toUpperCase() ?? ""}`));
  for (const segment of segments) {
    const title = dictionary.segment(version, segment.name);
    lines.push(`  ${session.paint("cyan", segment.name)}${title === undefined ? "" : `  ${title}`}`);
    const leaves = leavesOf(segment, message);
    const width = leaves.reduce((widest, { place }) => Math.max(widest, place.length), 0);
    for (const leaf of leaves) {
      const name = nameOf(dictionary, message, segment, leaf);
      const meaning = meaningOf(dictionary, message, segment, leaf, session.mayShowPhi);
      const value = shownValue(segment.name, leaf, leaf.value, session.mayShowPhi);
      const told = [clean(value), meaning === undefined ? "" : `(${meaning})`].filter(Boolean).join(" ");
      lines.push(
        `    ${leaf.place.padEnd(width)}  ${told}${name === undefined ? "" : session.paint("dim", `  ${name}`)}`,
      );
    }
  }
  return lines;
}
