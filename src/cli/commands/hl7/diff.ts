import { Failure } from "../../../core/failures.ts";
import type { Hl7FilePart } from "../../../formats/hl7/file.ts";
import type { Hl7Message } from "../../../formats/hl7/message.ts";
import { type Difference, diffMessages } from "../../../formats/hl7/tree.ts";
import { shownValue } from "../../../operator/hl7-tree.ts";
import { clean, counted } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { nameOfInput as nameOf, STANDARD_INPUT } from "../../io.ts";
import type { Session } from "../../session.ts";
import { type FileMessage, readHl7File, readMessage } from "./messages.ts";

/** `hl7 diff`: status 1 when there are differences. */
export async function diffHl7(
  session: Session,
  first: string,
  second: string,
  { charset }: { readonly charset?: string },
): Promise<ExitStatus | undefined> {
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
  session.result({ messages: compared }, [
    ...compared.flatMap((message) => linesOf(message, compared.length > 1, session)),
    count === 0 ? "no difference" : counted(count, "difference"),
  ]);
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

function linesOf(
  { ordinal, differences }: { readonly ordinal: number; readonly differences: readonly Described[] },
  isOneOfSeveral: boolean,
  { paint }: Session,
): string[] {
  if (differences.length === 0) return [];
  return [
    ...(isOneOfSeveral ? [paint("bold", `message ${ordinal}`)] : []),
    ...differences.map(({ kind, place, before, after }) => {
      if (kind === "removed") return paint("red", `- ${place}`);
      if (kind === "added") return paint("green", `+ ${place}`);
      return `  ${place}  ${valueWords(before)} -> ${valueWords(after)}`;
    }),
  ];
}

function valueWords(value: string | null): string {
  return value === null ? "(empty)" : clean(value);
}
