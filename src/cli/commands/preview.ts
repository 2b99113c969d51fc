import type { Command } from "commander";
import type { Order } from "../../core/order.ts";
import { type ControlRequest, DONE } from "../../core/order-control.ts";
import type { PlannedCall } from "../../service/plan-calls.ts";
import { wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { numberJson, PAINT_BY_VERDICT, showNumber, subjectJson } from "../output/order-columns.ts";
import {
  clean,
  counted,
  countsInWords,
  hideBody,
  hideHl7,
  hideText,
  problemLines,
  reveal,
  withHint,
} from "../output/text.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import type { Answer } from "./preview/answers.ts";
import { type Preview, type PreviewMessage, type PreviewOptions, readPreview } from "./preview/read.ts";

/** `cryobridge preview`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "an HL7 or CSV file; - for standard input")
    .requiredOption("--connector <name>", "read it as this connector would")
    .option("--limit <n>", "show at most this many messages; all are counted", wholeNumber(1, 100_000), 20)
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge preview order.hl7 --connector lims\n\nStatus 1 when anything of the file would be refused. Whether it came before is not looked up.",
    )
    .action(toAction(cli, preview));
}

async function preview(
  session: Session,
  path: string,
  options: PreviewOptions,
): Promise<ExitStatus | undefined> {
  const read = await readPreview(path, options, session);
  if (session.isJson) session.json(previewJson(read, session));
  else printPreview(read, session);
  const { problems, counts } = read;
  return problems.length + counts.refused + counts.waiting > 0 ? EXIT.failed : undefined;
}

/** Segments of a batch response that are shown to people. */
const MOST_BATCH_LINES = 200;

/** A preview as JSON. */
function previewJson(preview: Preview, session: Session) {
  const { mayShowPhi } = session;
  return {
    fileName: preview.fileName,
    connector: preview.connector,
    profile: preview.profile,
    isWholeFile: preview.isWholeFile,
    problems: preview.problems.map(withHint),
    counts: preview.counts,
    messages: preview.messages.map((message) => ({
      place: message.place,
      messageControlId: message.messageControlId ?? null,
      messageType: message.messageType ?? null,
      verdict: message.verdict,
      problems: message.problems.map(withHint),
      orderControls: message.controlRequests.map(({ control, fillerNumber, content, ...request }) => ({
        control,
        ...numberJson(request),
        fillerNumber: fillerNumber ?? null,
        content: content ? orderPreviewJson(content, session) : null,
      })),
      orders: message.orders.map(({ order, calls }) => ({
        ...orderPreviewJson(order, session),
        calls: calls.map(({ method, path, query, body, condition }) => ({
          method,
          path,
          query: hideBody(query, mayShowPhi) ?? null,
          body: hideBody(body, mayShowPhi) ?? null,
          condition: condition ?? null,
        })),
      })),
      answer: message.answer ? answerJson(message.answer, mayShowPhi) : null,
      resultProblem: message.resultProblem ? withHint(message.resultProblem) : null,
    })),
    batchAnswer: preview.batchAnswer ? answerJson(preview.batchAnswer, mayShowPhi) : null,
  };
}

function orderPreviewJson(order: Order, session: Session) {
  const { operation, facilityCode, facilityId, containers, sources } = order;
  return {
    operation,
    ...numberJson(order),
    facilityCode,
    facilityId,
    subject: subjectJson(order, session),
    containers: containers.map(({ label, description }) => ({
      label,
      description: hideText(description, session.mayShowPhi),
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
function printPreview(preview: Preview, session: Session): void {
  const { counts, messages, batchAnswer } = preview;
  session.line(
    `${clean(preview.fileName)} as connector ${preview.connector} would read it (profile ${preview.profile})`,
  );
  if (preview.problems.length > 0) {
    session.line(session.paint("red", "Nothing of the file would be taken:"));
    session.lines(problemLines(preview.problems), 2);
    if (batchAnswer) printBatchAnswer(batchAnswer, session);
    return;
  }
  for (const message of messages) printMessage(message, session);
  if (batchAnswer) printBatchAnswer(batchAnswer, session);
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  session.line();
  if (total > messages.length) {
    session.line(`… and ${counted(total - messages.length, "more message")}: --limit shows more.`);
  }
  session.line(`In all: ${countsInWords(counts, "no messages")}. Nothing was sent or stored.`);
  if (preview.isWholeFile && counts.refused > 0) {
    session.line("The profile takes a file whole or not at all, so nothing of this one would be taken.");
  }
}

function printMessage(message: PreviewMessage, session: Session): void {
  const about = [message.messageType, message.messageControlId].filter(Boolean).join(", ");
  session.line();
  session.line(
    `${clean(message.place)}${about ? ` (${clean(about)})` : ""}: ${session.paint(["bold", PAINT_BY_VERDICT[message.verdict]], message.verdict)}`,
  );
  session.lines(problemLines(message.problems), 2);
  for (const request of message.controlRequests) {
    session.lines([clean(controlLine(request))], 2);
    if (request.content) session.lines(orderLines(request.content, session.mayShowPhi), 4);
  }
  for (const { order, calls } of message.orders) {
    session.lines(orderLines(order, session.mayShowPhi), 2);
    session.lines(["Calls:"], 4);
    for (const call of calls) session.lines(callLines(call, session.mayShowPhi), 6);
  }
  if (message.resultProblem) {
    session.lines([session.paint("red", "Its results would be parked:")], 2);
    session.lines(problemLines([message.resultProblem]), 4);
  }
  if (!message.answer) return;
  session.lines([`Answer to the lab${placeOf(message.answer)}:`], 2);
  session.lines(answerLines(message.answer, session.mayShowPhi), 4);
}

function printBatchAnswer(answer: Answer, session: Session): void {
  const lines = answerLines(answer, session.mayShowPhi);
  session.line();
  session.line(`One answer to the lab for the batches${placeOf(answer)}:`);
  session.lines(lines.slice(0, MOST_BATCH_LINES), 2);
  const more = lines.length - MOST_BATCH_LINES;
  if (more > 0) session.line(`  … and ${counted(more, "more segment")}: --json shows all.`);
}

function placeOf(answer: Answer): string {
  if (answer.kind !== "hl7") return "";
  return answer.fileName === undefined ? ", over the connection" : ` ${clean(answer.fileName)}`;
}

function controlLine({ control, fillerNumber, ...request }: ControlRequest): string {
  const name = showNumber(request) || `of ${fillerNumber?.kind} ${fillerNumber?.id}`;
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
