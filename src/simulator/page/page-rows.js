// The tables of the page. Rows are replaced only when they differ, and whoever uses the keyboard stays where they were.

const LOOK = {
  PENDING: "wait",
  CREATED: "wait",
  IN_PROGRESS: "busy",
  ACCEPTED: "good",
  COMPLETED: "good",
  REJECTED: "bad",
  FAILED: "bad",
  CANCELLED: "bad",
};
const COLUMNS = 8;
const EMPTY = {
  requests: "No requests yet.",
  procedures: "No procedures yet.",
  stored: "Nothing is in storage.",
};

const byId = (id) => document.getElementById(id);
const clock = (moment) => new Date(moment).toLocaleTimeString();

function cell(content, className) {
  const td = document.createElement("td");
  td.append(content);
  if (className) td.className = className;
  return td;
}

function status(row) {
  const td = cell("");
  const mark = document.createElement("span");
  mark.className = `status ${LOOK[row.status] ?? ""}`;
  mark.textContent = row.status;
  td.append(mark);
  const why = row.error ?? (row.acceptedBy ? `by ${row.acceptedBy}` : undefined);
  if (why) {
    const small = document.createElement("span");
    small.className = "why";
    small.textContent = why;
    td.append(small);
  }
  return td;
}

function labels(row) {
  const text = row.labels.length > 0 ? row.labels.join(", ") : (row.storage ?? "–");
  const td = cell(text, "labels");
  td.title = text;
  return td;
}

function cellsOf(kind, row) {
  if (kind === "stored") {
    const { canister, cane, slot } = row.slot;
    return [
      cell(String(row.id)),
      cell(row.name),
      cell(row.subjectCode),
      cell(row.storage),
      cell(`${canister}, ${cane}, ${slot}`),
      cell(row.rfidTag ?? "–"),
      cell(clock(row.storedAt)),
    ];
  }
  return [
    cell(String(row.code ?? row.id)),
    cell(row.type),
    cell(row.facility ?? "–"),
    cell(row.subjectCode ?? "–"),
    labels(row),
    cell(clock(row.createdAt)),
    status(row),
  ];
}

function tableRow(kind, row, acts) {
  const tr = document.createElement("tr");
  const buttons = cell("", "acts");
  for (const { name, act } of acts) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name;
    button.dataset.key = `${kind} ${row.id} ${name}`;
    button.setAttribute("aria-label", `${name} ${row.code ?? row.name ?? `request ${row.id}`}`);
    button.addEventListener("click", () => act(row));
    buttons.append(button);
  }
  tr.dataset.row = `${kind} ${row.id}`;
  tr.append(...cellsOf(kind, row), buttons);
  return tr;
}

/** Shows the rows of a table; `actsOf` gives what can be done with one. */
export function fillRows(kind, rows, actsOf) {
  const body = byId(kind);
  const shown = JSON.stringify(rows);
  if (body.dataset.shown === shown) return;
  body.dataset.shown = shown;
  const focused = body.contains(document.activeElement) ? document.activeElement : undefined;
  const lines = rows.map((row) => tableRow(kind, row, actsOf(row)));
  if (lines.length === 0) {
    const line = document.createElement("tr");
    const empty = cell(EMPTY[kind], "empty");
    empty.colSpan = COLUMNS;
    line.append(empty);
    lines.push(line);
  }
  body.replaceChildren(...lines);
  if (focused) refocus(kind, focused);
}

/** To the same button; else to the first one of the same row, which has other acts now; else to the table. */
function refocus(kind, { dataset }) {
  const [table, id] = (dataset.key ?? "").split(" ");
  const same = document.querySelector(`[data-key="${CSS.escape(dataset.key ?? "")}"]`);
  const row = document.querySelector(`[data-row="${CSS.escape(`${table} ${id}`)}"]`);
  (same ?? row?.querySelector("button") ?? byId(`${kind}-section`)).focus();
}

/** Shows numbers with their names. */
export function fillCounts(list, entries) {
  list.replaceChildren(
    ...entries.map(([name, value]) => {
      const group = document.createElement("div");
      const term = document.createElement("dt");
      term.textContent = name;
      const count = document.createElement("dd");
      count.textContent = String(value);
      group.append(term, count);
      return group;
    }),
  );
}

/** Shows the options of a choice, and chooses one unless the person is choosing. */
export function fillOptions(select, options, chosen) {
  const shown = JSON.stringify(options);
  if (select.dataset.shown !== shown) {
    const before = select.value;
    select.dataset.shown = shown;
    select.replaceChildren(...options.map(({ value, text }) => new Option(text, value)));
    if (options.some(({ value }) => value === before)) select.value = before;
  }
  if (chosen !== undefined && document.activeElement !== select) select.value = chosen;
}
