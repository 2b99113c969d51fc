import { FAILURES, type Problem } from "../core/failures.ts";
import type { Order } from "../core/order.ts";
import { DONE, type Wish } from "../core/wish.ts";
import type { PlannedCall } from "../service/plan-calls.ts";
import { clean } from "./clean.ts";
import { HIDDEN, hideBody, hideHl7, reveal } from "./hidden.ts";
import { VERDICT_PAINT } from "./messages-list.ts";
import { numberJson, showNumber } from "./order-number.ts";
import type { Answer } from "./preview-answer.ts";
import type { Preview, PreviewMessage } from "./preview-file.ts";
import { problemLines } from "./problem-lines.ts";
import type { Session } from "./session.ts";

/** Segments of a batch response that are shown to people. */
const MOST_BATCH_LINES = 200;

const describeProblem = (problem: Problem) => ({ ...problem, mend: FAILURES[problem.code].mend });

/** A preview as JSON. */
export function previewJson(preview: Preview, mayShowPhi: boolean) {
  return {
    fileName: preview.fileName,
    connector: preview.connector,
    profile: preview.profile,
    isWholeFile: preview.isWholeFile,
    problems: preview.problems.map(describeProblem),
    counts: preview.counts,
    messages: preview.messages.map((message) => ({
      place: message.place,
      messageControlId: message.messageControlId ?? null,
      messageType: message.messageType ?? null,
      verdict: message.verdict,
      problems: message.problems.map(describeProblem),
      wishes: message.wishes.map(({ control, fillerNumber, content, ...wish }) => ({
        control,
        ...numberJson(wish),
        fillerNumber: fillerNumber ?? null,
        content: content ? orderPreviewJson(content, mayShowPhi) : null,
      })),
      orders: message.orders.map(({ order, calls }) => ({
        ...orderPreviewJson(order, mayShowPhi),
        calls: calls.map(({ method, path, query, body, condition }) => ({
          method,
          path,
          query: hideBody(query, mayShowPhi) ?? null,
          body: hideBody(body, mayShowPhi) ?? null,
          condition: condition ?? null,
        })),
      })),
      answer: message.answer ? answerJson(message.answer, mayShowPhi) : null,
      resultProblem: message.resultProblem ? describeProblem(message.resultProblem) : null,
    })),
    batchAnswer: preview.batchAnswer ? answerJson(preview.batchAnswer, mayShowPhi) : null,
  };
}

function orderPreviewJson(order: Order, mayShowPhi: boolean) {
  const { operation, facilityCode, facilityId, subject, containers, sources } = order;
  return {
    operation,
    ...numberJson(order),
    facilityCode,
    facilityId,
    subject: {
      code: reveal(subject.code, mayShowPhi) ?? null,
      firstName: reveal(subject.firstName, mayShowPhi) ?? null,
      lastName: reveal(subject.lastName, mayShowPhi) ?? null,
      dateOfBirth: reveal(subject.dateOfBirth, mayShowPhi) ?? null,
    },
    containers: containers.map(({ label, description }) => ({
      label,
      description: hideText(description, mayShowPhi),
    })),
    sources,
  };
}

function answerJson(answer: Answer, mayShowPhi: boolean) {
  if (answer.kind === "hl7") {
    return {
      kind: answer.kind,
      fileName: answer.fileName ?? null,
      text: hideHl7(answer.text, mayShowPhi).join("\n"),
    };
  }
  return {
    kind: answer.kind,
    rows: answer.rows.map((row) => ({ ...row, subject_code: hideText(row.subject_code, mayShowPhi) })),
  };
}

/** A preview for people. */
export function printPreview(preview: Preview, session: Session): void {
  const { counts, messages, batchAnswer } = preview;
  session.line(
    `${clean(preview.fileName)} as connector ${preview.connector} would read it (profile ${preview.profile})`,
  );
  if (preview.problems.length > 0) {
    session.line(session.paint("red", "Nothing of the file would be taken:"));
    indent(session, 2, problemLines(preview.problems));
    if (batchAnswer) printBatchAnswer(batchAnswer, session);
    return;
  }
  for (const message of messages) printMessage(message, session);
  if (batchAnswer) printBatchAnswer(batchAnswer, session);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  session.line();
  if (total > messages.length) {
    const more = total - messages.length;
    session.line(`… and ${more} more ${more === 1 ? "message" : "messages"}: --limit shows more.`);
  }
  const words = Object.entries(counts).flatMap(([verdict, count]) =>
    count > 0 ? [`${count} ${verdict}`] : [],
  );
  session.line(`In all: ${words.join(", ") || "no messages"}. Nothing was sent or stored.`);
  if (preview.isWholeFile && counts.refused > 0) {
    session.line("The profile takes a file whole or not at all, so nothing of this one would be taken.");
  }
}

function printMessage(message: PreviewMessage, session: Session): void {
  const about = [message.messageType, message.messageControlId].filter(Boolean).join(", ");
  session.line();
  session.line(
    `${clean(message.place)}${about ? ` (${clean(about)})` : ""}: ${session.paint(["bold", VERDICT_PAINT[message.verdict]], message.verdict)}`,
  );
  indent(session, 2, problemLines(message.problems));
  for (const wish of message.wishes) {
    indent(session, 2, [clean(wishLine(wish))]);
    if (wish.content) indent(session, 4, orderLines(wish.content, session.mayShowPhi));
  }
  for (const { order, calls } of message.orders) {
    indent(session, 2, orderLines(order, session.mayShowPhi));
    indent(session, 4, ["Calls:"]);
    for (const call of calls) indent(session, 6, callLines(call, session.mayShowPhi));
  }
  if (message.resultProblem) {
    indent(session, 2, [session.paint("red", "Its results would be parked:")]);
    indent(session, 4, problemLines([message.resultProblem]));
  }
  if (!message.answer) return;
  indent(session, 2, [`Answer to the lab${placeOf(message.answer)}:`]);
  indent(session, 4, answerLines(message.answer, session.mayShowPhi));
}

function printBatchAnswer(answer: Answer, session: Session): void {
  const lines = answerLines(answer, session.mayShowPhi);
  session.line();
  session.line(`One answer to the lab for the batches${placeOf(answer)}:`);
  indent(session, 2, lines.slice(0, MOST_BATCH_LINES));
  const more = lines.length - MOST_BATCH_LINES;
  if (more > 0)
    session.line(`  … and ${more} more ${more === 1 ? "segment" : "segments"}: --json shows all.`);
}

function placeOf(answer: Answer): string {
  if (answer.kind !== "hl7") return "";
  return answer.fileName === undefined ? ", over the connection" : ` ${clean(answer.fileName)}`;
}

function wishLine({ control, fillerNumber, ...wish }: Wish): string {
  const name = showNumber(wish) || `of ${fillerNumber?.kind} ${fillerNumber?.id}`;
  if (control === "status") return `Asks how order ${name} stands`;
  return `Wants order ${name} ${DONE[control]}, as far as that is possible by then`;
}

function orderLines(order: Order, mayShowPhi: boolean): string[] {
  const { subject } = order;
  const name = [reveal(subject.firstName, mayShowPhi), reveal(subject.lastName, mayShowPhi)]
    .filter(Boolean)
    .join(" ");
  const born = reveal(subject.dateOfBirth, mayShowPhi);
  const who = [reveal(subject.code, mayShowPhi), name, born && `born ${born}`].filter(Boolean).join(", ");
  return [
    clean(
      `Order ${showNumber(order) || "without number"}: ${order.operation} at ${order.facilityCode} (${order.facilityId})`,
    ),
    clean(`  subject    ${who}`),
    ...order.containers.map(({ label, description }) => {
      const told = hideText(description, mayShowPhi);
      return clean(`  container  ${label}${told ? `: ${told}` : ""}`);
    }),
  ];
}

function callLines({ method, path, query, body, condition }: PlannedCall, mayShowPhi: boolean): string[] {
  const shown = hideBody(query, mayShowPhi) as PlannedCall["query"];
  const words = Object.entries(shown ?? {}).map(([key, value]) => `${key}=${value}`);
  const address = words.length > 0 ? `${path}?${words.join("&")}` : path;
  return [
    clean(`${method} ${address}${condition ? `   (if ${condition})` : ""}`),
    ...(body ? [clean(`  ${JSON.stringify(hideBody(body, mayShowPhi))}`)] : []),
  ];
}

function answerLines(answer: Answer, mayShowPhi: boolean): string[] {
  if (answer.kind === "hl7") return hideHl7(answer.text, mayShowPhi);
  return answer.rows.map((row) =>
    clean(
      Object.entries(row)
        .filter(([, value]) => value !== "")
        .map(
          ([column, value]) => `${column}=${column === "subject_code" ? hideText(value, mayShowPhi) : value}`,
        )
        .join("  "),
    ),
  );
}

function hideText(text: string, mayShowPhi: boolean): string {
  return mayShowPhi || text === "" ? text : HIDDEN;
}

function indent(session: Session, by: number, lines: readonly string[]): void {
  for (const line of lines) session.line(`${" ".repeat(by)}${line}`);
}
