import { asFailure, type Failure } from "../../core/failures.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { openDictionary } from "../../formats/hl7/dictionary.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { StoredMessage } from "../../ledger/messages/views.ts";
import { describeSegment, type ShownSegment } from "../../operator/hl7-tree.ts";
import { messageText } from "../../operator/kept-text.ts";
import { clean, cleanLines, counted } from "../../operator/text.ts";
import { type Html, html } from "../html.ts";

/** A browser shows so much of a message at once; the command line shows any. */
const MOST_SEGMENTS = 300;
const MOST_ROWS = 300;
const MOST_CHARACTERS = 200_000;

/** A message as people read it: segments with the names of their fields, or rows; patients' values only where asked for. */
export async function messageContent(message: StoredMessage, mayShowPhi: boolean): Promise<Html> {
  const { raw, csvRows, format, messageId } = message;
  if (raw === undefined) return html`<p class="nothing">Its text was pruned by retention.</p>`;
  const text = messageText(message, raw);
  const content = csvRows
    ? csvTable(csvRows, mayShowPhi)
    : format === "hl7"
      ? await hl7Tree(text, message.encoding, mayShowPhi)
      : html`<p class="nothing">It could not be taken apart.</p>`;
  const asItCame = mayShowPhi
    ? html`<details class="raw"><summary>As it came (${raw.length} bytes)</summary>${pre(cleanLines(text), messageId)}</details>`
    : html`<p class="note">As it came: ${raw.length} bytes, hidden until asked for.</p>`;
  return html`${content}${asItCame}`;
}

async function hl7Tree(text: string, encoding: string | undefined, mayShowPhi: boolean): Promise<Html> {
  const message = parse(text, encoding);
  if (!(message instanceof Hl7Message))
    return html`<p class="nothing">It could not be taken apart: ${message.message}.</p>`;
  const dictionary = openDictionary();
  const shown = message.segments
    .slice(0, MOST_SEGMENTS)
    .map((segment) => segmentTree(describeSegment(segment, message, { dictionary, mayShowPhi })));
  const left = message.segments.length - shown.length;
  return html`<div class="tree">${shown}</div>${left > 0 ? html`<p class="note">And ${counted(left, "segment")} more.</p>` : ""}`;
}

function parse(text: string, encoding: string | undefined): Hl7Message | Failure {
  try {
    return Hl7Message.parse(text, { encoding: encoding === undefined ? undefined : findEncoding(encoding) });
  } catch (error) {
    return asFailure(error);
  }
}

function segmentTree({ segment, name, values }: ShownSegment): Html {
  const rows = values.map(
    ({ place, name: title, value, meaning }) =>
      html`<tr><th scope="row">${place}</th><td>${clean(value)}${meaning === null ? "" : html` <span class="note">${meaning}</span>`}</td><td class="note">${title}</td></tr>`,
  );
  return html`<details open><summary><strong>${segment}</strong>${name === null ? "" : html` <span class="note">${name}</span>`}</summary><table><tbody>${rows}</tbody></table></details>`;
}

function csvTable(rows: NonNullable<StoredMessage["csvRows"]>, mayShowPhi: boolean): Html {
  const columns = [...new Set(rows.flatMap(([, cells]) => cells.map(([column]) => column)))];
  if (!mayShowPhi)
    return html`<p>${counted(rows.length, "row")} with the columns ${columns.map((column, n) => html`${n > 0 ? ", " : ""}<code>${clean(column)}</code>`)}. What stands in them is hidden until asked for.</p>`;
  const body = rows.slice(0, MOST_ROWS).map(([line, cells]) => {
    const byColumn = new Map(cells);
    return html`<tr><td data-head="line" class="right">${line}</td>${columns.map((column) => html`<td data-head="${clean(column)}">${clean(byColumn.get(column) ?? "")}</td>`)}</tr>`;
  });
  const left = rows.length - body.length;
  return html`<div class="table" tabindex="0" role="region" aria-label="Rows of the file"><table><thead><tr><th scope="col">line</th>${columns.map((column) => html`<th scope="col">${clean(column)}</th>`)}</tr></thead><tbody>${body}</tbody></table></div>${left > 0 ? html`<p class="note">And ${counted(left, "row")} more.</p>` : ""}`;
}

function pre(lines: readonly string[], messageId: string): Html {
  const text = lines.join("\n");
  const isCut = text.length > MOST_CHARACTERS;
  const more =
    isCut &&
    html`<p class="note">Cut here; <code>cryobridge messages show ${messageId} --show-phi</code> shows all of it.</p>`;
  return html`<pre>${text.slice(0, MOST_CHARACTERS)}</pre>${more}`;
}
