import type { Command } from "commander";
import { shownProblem } from "../../core/failures.ts";
import { type Order, sourcesInWords } from "../../core/order.ts";
import { DONE } from "../../core/order-control.ts";
import { placeText } from "../../core/place.ts";
import { encodeCsv } from "../../formats/csv/encode.ts";
import { hideRecord } from "../../operator/hide-record.ts";
import { hideHl7 } from "../../operator/hl7-tree.ts";
import { PAINT_BY_VERDICT } from "../../operator/lists/messages.ts";
import { numberJson, subjectJson } from "../../operator/order-words.ts";
import { clean, cleanLines, counted, countsInWords, hideText, problemLines } from "../../operator/text.ts";
import type { PlannedCall } from "../../service/plan-calls.ts";
import { wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import type { Answer } from "./preview/answers.ts";
import { byNeed, type Personal, type Preview, type PreviewOptions, readPreview } from "./preview/read.ts";

/** `cryobridge preview`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "an HL7 or CSV file; - for standard input")
    .requiredOption("--connector <name>", "read it as this connector would")
    .option(
      "--limit <n>",
      "show at most this many messages, those with mistakes before others; all are counted",
      wholeNumber(1, 100_000),
      20,
    )
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge preview order.hl7 --connector lims\n\nStatus 1 when anything of the file would be refused. Whether it came before is not looked up.",
    )
    .action(toAction(cli, preview));
}

export async function preview(
  session: Session,
  path: string,
  options: PreviewOptions,
): Promise<ExitStatus | undefined> {
  const view = viewOf(await readPreview(path, options, session), session);
  if (session.isJson) session.json(view);
  else print(view, session);
  const { problems, counts } = view;
  return problems.length + counts.refused + counts.waiting > 0 ? EXIT.failed : undefined;
}

/** Segments of a batch response that are shown to people. */
const MOST_BATCH_LINES = 200;

type View = ReturnType<typeof viewOf>;
type OrderView = ReturnType<typeof viewOfOrder>;
type AnswerView = ReturnType<typeof showAnswer>;

/** A preview as programs read it and people are shown, with patients' values masked. */
export function viewOf(
  { messages, problems, fileAnswer, fileProblem, personal, ...preview }: Preview,
  session: Session,
) {
  const viewOfAnswer = (answer: Answer | undefined) =>
    answer ? showAnswer(answer, personal, session.mayShowPhi) : null;
  const hide = (value: PlannedCall["query"] | PlannedCall["body"]) => {
    const shown = hideRecord(value, "order", session.mayShowPhi) as
      | Readonly<Record<string, unknown>>
      | undefined;
    // No ids yet, but which container's they are going to be.
    const ids =
      value && "sampleContainerIds" in value ? { sampleContainerIds: value.sampleContainerIds } : {};
    return shown && { ...shown, ...ids };
  };
  return {
    ...preview,
    problems: problems.map(shownProblem),
    messages: messages.map(({ messageControlId = null, messageType = null, ...message }) => ({
      place: placeText(message.place),
      messageControlId,
      messageType,
      verdict: message.verdict,
      problems: message.problems.map(shownProblem),
      orderControls: message.controlRequests.map(({ control, fillerNumber = null, content, ...request }) => ({
        control,
        ...numberJson(request),
        fillerNumber,
        content: content ? viewOfOrder(content, session) : null,
      })),
      orders: message.orders.map(({ order, calls, result }) => ({
        ...viewOfOrder(order, session),
        result: viewOfAnswer(result),
        calls: calls.map(({ method, path, query, body, condition = null }) => ({
          ...{ method, path, query: hide(query) ?? null, body: hide(body) ?? null, condition },
        })),
      })),
      answer: viewOfAnswer(message.answer),
      secondAnswer: viewOfAnswer(message.secondAnswer),
      controlAnswers: message.controlAnswers.map((sample) => ({
        case: sample.case,
        answer: showAnswer(sample.answer, personal, session.mayShowPhi),
      })),
      resultProblem: message.resultProblem ? shownProblem(message.resultProblem) : null,
    })),
    fileAnswer: viewOfAnswer(fileAnswer),
    fileProblem: fileProblem ? shownProblem(fileProblem) : null,
  };
}

function viewOfOrder(order: Order, session: Session) {
  const { operation, facilityCode, facilityId, sources } = order;
  const containers = order.containers.map(({ label, description }) => ({
    label,
    description: hideText(description, session.mayShowPhi),
  }));
  const subject = subjectJson(order, session);
  const shown = { subject, containers, sources: sourcesInWords(sources) };
  return { operation, ...numberJson(order), facilityCode, facilityId, ...shown };
}

/** An answer or result: HL7 as its text, CSV as cells by their headings and as the lines of its file. */
function showAnswer(answer: Answer, personal: Personal, mayShowPhi: boolean) {
  const { kind, fileName = null } = answer;
  if (kind === "hl7")
    return { kind, fileName, text: hideHl7(answer.text, mayShowPhi, personal.isFilled).join("\n") };
  const { headings, hasHeader, ...form } = answer.form;
  const hide = ([heading, value]: [string, string]) =>
    [heading, personal.headings.has(heading) ? hideText(value, mayShowPhi) : value] as const;
  const rows = answer.rows.map((row) => Object.fromEntries(Object.entries(row).map(hide)));
  const cells = rows.map((row) => headings.map((heading) => row[heading]));
  const text = encodeCsv(hasHeader ? headings : undefined, cells, form);
  return { kind, fileName, rows, lines: text.split("\r\n").slice(0, -1) };
}

/** A preview for people. */
function print(view: View, session: Session): void {
  const { fileName, connector, profile, problems, counts, messages } = view;
  session.line(`${clean(fileName)} as connector ${connector} would read it (profile ${profile})`);
  if (problems.length > 0) {
    session.line(session.paint("red", "Nothing of the file would be taken:"));
    session.lines(problemLines(problems), 2);
    printFileAnswer(view, session);
    return;
  }
  for (const message of messages.toSorted(byNeed)) printMessage(message, session);
  printFileAnswer(view, session);
  const more = Object.values(counts).reduce((sum, count) => sum + count, 0) - messages.length;
  session.line();
  if (more > 0) session.line(`… and ${counted(more, "more message")}: --limit shows more.`);
  session.line(`In all: ${countsInWords(counts, "no messages")}. Nothing was sent or stored.`);
  if (view.isWholeFile && counts.refused > 0)
    session.line("The profile takes a file whole or not at all, so nothing of this one would be taken.");
  if (view.untaken.length > 0)
    session.line(
      `The transforms of ${view.untaken.map((column) => `the column ${column}`).join(" and of ")} don't take all values: these stand as they came. cryobridge check names the words.`,
    );
  if (view.unsent.length > 0)
    session.line(
      `The lab is sent no word of ${view.unsent.join(", ")}: results.send of the profile lacks them.`,
    );
}

function printMessage(message: View["messages"][number], session: Session): void {
  const { place, verdict, answer, secondAnswer, resultProblem } = message;
  const about = [message.messageType, message.messageControlId].filter(Boolean).join(", ");
  const judged = session.paint(["bold", PAINT_BY_VERDICT[verdict]], verdict);
  session.line();
  session.line(`${clean(place)}${about ? ` (${clean(about)})` : ""}: ${judged}`);
  session.lines(problemLines(message.problems), 2);
  for (const request of message.orderControls) {
    session.lines([clean(controlLine(request))], 2);
    if (request.content) session.lines(orderLines(request.content), 4);
  }
  for (const order of message.orders) {
    session.lines(orderLines(order), 2);
    session.lines(["Calls:"], 4);
    session.lines(order.calls.flatMap(callLines), 6);
  }
  if (resultProblem) printParked(resultProblem, session);
  if (answer) {
    session.lines([`Answer to the lab${placeOf(answer)}:`], 2);
    session.lines(answerLines(answer), 4);
  }
  if (secondAnswer) {
    session.lines([`Second answer to the lab, with the results${nameOf(secondAnswer)}:`], 2);
    session.lines(answerLines(secondAnswer), 4);
  }
  for (const sample of message.controlAnswers) {
    session.lines([`${SAMPLE_TITLE[sample.case]}${placeOf(sample.answer)}:`], 2);
    session.lines(answerLines(sample.answer), 4);
  }
  for (const { result, ...order } of message.orders) {
    if (!result) continue;
    const name = numberOf(order);
    const what = name === "" ? "the order" : `order ${clean(name)}`;
    session.lines([`Result once ${what} is completed${placeOf(result)} (${INVENTED}):`], 2);
    session.lines(answerLines(result), 4);
  }
}

const SAMPLE_TITLE = {
  granted: "Answer to what it wants of earlier orders, when that is done",
  unknown: "Answer when there are no such orders",
  open: "Answer while the service has not decided yet, before one of the above",
} as const;

/** What no preview can know. */
const INVENTED = "example; what only the service knows is invented";

function printParked(problem: NonNullable<View["fileProblem"]>, session: Session): void {
  session.lines([session.paint("red", "Its results would be parked:")], 2);
  session.lines(problemLines([problem]), 4);
}

function printFileAnswer({ fileAnswer: answer, fileProblem }: View, session: Session): void {
  if (fileProblem) printParked(fileProblem, session);
  if (!answer) return;
  const lines = answerLines(answer);
  session.line();
  session.line(`One answer to the lab for the whole file${placeOf(answer)}:`);
  session.lines(lines.slice(0, MOST_BATCH_LINES), 2);
  const more = lines.length - MOST_BATCH_LINES;
  if (more > 0) session.line(`  … and ${counted(more, "more segment")}: --json shows all.`);
}

function placeOf({ fileName }: AnswerView): string {
  return fileName === null ? ", over the connection" : ` ${clean(fileName)}`;
}

function nameOf({ fileName }: AnswerView): string {
  return fileName === null ? "" : ` ${clean(fileName)}`;
}

type Numbered = Pick<OrderView, "placerOrderNumber" | "placerAuthority">;

function numberOf({ placerOrderNumber, placerAuthority }: Numbered): string {
  return [placerOrderNumber, placerAuthority && `(${placerAuthority})`].filter(Boolean).join(" ");
}

function controlLine(request: View["messages"][number]["orderControls"][number]): string {
  const { control, fillerNumber } = request;
  const name = numberOf(request) || `of ${fillerNumber?.kind} ${fillerNumber?.id}`;
  if (control === "status") return `Asks how order ${name} stands`;
  return `Wants order ${name} ${DONE[control]}, as far as that is possible by then`;
}

function orderLines(order: OrderView): string[] {
  const { code, firstName, lastName, dateOfBirth } = order.subject;
  const name = [firstName, lastName].filter(Boolean).join(" ");
  const who = [code, name, dateOfBirth && `born ${dateOfBirth}`].filter(Boolean).join(", ");
  const what = `${order.operation} at ${order.facilityCode} (${order.facilityId})`;
  return [
    `Order ${numberOf(order) || "without number"}: ${what}`,
    `  subject    ${who}`,
    ...order.containers.map(
      ({ label, description }) => `  container  ${[label, description].filter(Boolean).join(": ")}`,
    ),
  ].map(clean);
}

function callLines(call: View["messages"][number]["orders"][number]["calls"][number]): string[] {
  const { method, path, query, body, condition } = call;
  const words = Object.entries(query ?? {}).map(([key, value]) => `${key}=${value}`);
  const address = words.length > 0 ? `${path}?${words.join("&")}` : path;
  const lines = [`${method} ${address}${condition ? `   (if ${condition})` : ""}`];
  return (body ? [...lines, `  ${JSON.stringify(body)}`] : lines).map(clean);
}

function answerLines(answer: AnswerView): string[] {
  if (answer.kind === "csv") return answer.lines.flatMap(cleanLines);
  return answer.text.split("\n").filter((line) => line !== "");
}
