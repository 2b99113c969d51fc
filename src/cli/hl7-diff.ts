import type { Command } from "commander";
import { Failure } from "../core/failures.ts";
import { type Difference, diffMessages } from "../formats/hl7/diff.ts";
import type { Hl7FilePart } from "../formats/hl7/file.ts";
import type { Hl7Message } from "../formats/hl7/message.ts";
import { clean } from "./clean.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { type FileMessage, nameOf, readHl7File, readMessage } from "./hl7-file.ts";
import { shownValue } from "./hl7-phi.ts";
import type { Session } from "./session.ts";
import { STANDARD_INPUT } from "./standard-input.ts";

/** `hl7 diff`: status 1 when there are differences. */
export async function diffHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [first, second] = command.processedArgs as [string, string];
  const { charset } = command.opts<{ charset?: string }>();
  if (first === STANDARD_INPUT && second === STANDARD_INPUT)
    throw new Failure("CLI_USAGE", "only one of both can be standard input");
  const { parts: before } = await readHl7File(session, first);
  const { parts: after } = await readHl7File(session, second);
  if (before.length !== after.length) {
    throw new Failure(
      "CLI_USAGE",
      `${nameOf(first)} holds ${before.length} and ${nameOf(second)} ${after.length} messages; files are compared message by message, so both need as many`,
    );
  }
  const read = (path: string, part: Hl7FilePart) => requireMessage(path, readMessage(part, charset));
  const compared = before.map((left, index) => ({
    ordinal: left.ordinal,
    differences: diffMessages(read(first, left), read(second, after[index] as Hl7FilePart)).map((each) =>
      describe(each, session.mayShowPhi),
    ),
  }));
  const count = compared.reduce((sum, { differences }) => sum + differences.length, 0);
  if (session.isJson) session.json({ messages: compared });
  else print(compared, count, session);
  return count > 0 ? EXIT.differs : undefined;
}

function requireMessage(path: string, { ordinal, line, message }: FileMessage): Hl7Message {
  if (!(message instanceof Failure)) return message;
  const place = `${nameOf(path)}, message ${ordinal}, line ${line}`;
  throw new Failure(message.code, { message: `${place}: ${message.message}`, cause: message });
}

interface Described {
  readonly kind: Difference["kind"];
  readonly place: string;
  readonly before: string | null;
  readonly after: string | null;
}

function describe(difference: Difference, mayShowPhi: boolean): Described {
  if (difference.kind !== "changed") {
    const { name, ordinal } = difference.segment;
    return {
      kind: difference.kind,
      place: ordinal > 1 ? `${name}[${ordinal}]` : name,
      before: null,
      after: null,
    };
  }
  const { kind, place, before, after } = difference;
  const [, field, component] = /-(\d+)(?:\[\d+\])?(?:\.(\d+))?/.exec(place) ?? [];
  const at = { field: Number(field), component: Number(component ?? 1) };
  const shown = (value: string | undefined) =>
    value === undefined ? null : shownValue(place.slice(0, 3), at, value, mayShowPhi);
  return { kind, place, before: shown(before), after: shown(after) };
}

function print(
  compared: readonly { readonly ordinal: number; readonly differences: readonly Described[] }[],
  count: number,
  session: Session,
): void {
  for (const { ordinal, differences } of compared) {
    if (differences.length === 0) continue;
    if (compared.length > 1) session.line(session.paint("bold", `message ${ordinal}`));
    for (const { kind, place, before, after } of differences) {
      if (kind === "removed") session.line(session.paint("red", `- ${place}`));
      else if (kind === "added") session.line(session.paint("green", `+ ${place}`));
      else session.line(`  ${place}  ${told(before)} -> ${told(after)}`);
    }
  }
  session.line(count === 0 ? "no difference" : `${count} difference${count === 1 ? "" : "s"}`);
}

function told(value: string | null): string {
  return value === null ? "(empty)" : clean(value);
}
