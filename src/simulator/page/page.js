// The page of the simulator: shows what the service knows once a second and sends what the person decides.

const REFRESH_MS = 1000;
const OUTAGE = { name: "taken down on the page", path: "/**", status: 503, body: "html" };
const SPEEDS = [1, 10, 60, 300, 3600];
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
const REQUEST_ACTS = { PENDING: ["accept", "reject", "cancel"] };
const PROCEDURE_ACTS = {
  PENDING: ["accept", "cancel"],
  CREATED: ["start", "fail", "cancel"],
  IN_PROGRESS: ["complete", "fail", "cancel"],
};

const byId = (id) => document.getElementById(id);

/** Sends one call to the control surface and gives the answer; what went wrong stands on the page. */
async function call(method, path, body) {
  const response = await fetch(`/simulator/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

async function act(work) {
  try {
    await work();
    byId("notice").hidden = true;
  } catch (error) {
    byId("notice").textContent = error.message;
    byId("notice").hidden = false;
  }
  await refresh();
}

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

function buttons(kind, row, acts) {
  const td = cell("", "acts");
  for (const name of acts ?? []) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name[0].toUpperCase() + name.slice(1);
    button.addEventListener("click", () => act(() => call("POST", `${kind}/${row.id}/${name}`, {})));
    td.append(button);
  }
  return td;
}

function tableRow(kind, row, acts) {
  const tr = document.createElement("tr");
  const labels = cell(row.labels.join(", "), "labels");
  labels.title = row.labels.join(", ");
  tr.append(
    cell(String(row.code ?? row.id)),
    cell(row.type),
    cell(row.subjectCode ?? "–"),
    labels,
    cell(new Date(row.createdAt).toLocaleTimeString()),
    status(row),
    buttons(kind, row, acts[row.status]),
  );
  return tr;
}

/** Rows are replaced only when they differ, so that a button isn't taken away under the pointer. */
function fill(id, kind, rows, acts) {
  const body = byId(id);
  const shown = JSON.stringify(rows);
  if (body.dataset.shown === shown) return;
  body.dataset.shown = shown;
  const lines = rows.map((row) => tableRow(kind, row, acts));
  if (lines.length === 0) {
    const line = document.createElement("tr");
    const empty = cell(`No ${kind} yet.`, "empty");
    empty.colSpan = 7;
    line.append(empty);
    lines.push(line);
  }
  body.replaceChildren(...lines);
}

function fillCounts(counts) {
  const entries = [
    ["Subjects", counts.subjects],
    ["To review", counts.requests.PENDING ?? 0],
    ["Under way", (counts.procedures.CREATED ?? 0) + (counts.procedures.IN_PROGRESS ?? 0)],
    ["In storage", counts.stored],
  ];
  byId("counts").replaceChildren(
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

function fillOptions(select, options, chosen) {
  if (select.options.length !== options.length) {
    select.replaceChildren(...options.map(({ value, text }) => new Option(text, value)));
  }
  if (chosen !== undefined && document.activeElement !== select) select.value = chosen;
}

async function refresh() {
  const state = await call("GET", "state?limit=200").catch(() => undefined);
  if (!state) return;
  const { settings, counts, requests, procedures, storages, faults } = state;
  fillCounts(counts);
  fill("requests", "requests", requests, REQUEST_ACTS);
  fill("procedures", "procedures", procedures, PROCEDURE_ACTS);
  byId("staff-auto").checked = settings.staff.auto;
  byId("device-auto").checked = settings.device.auto;
  const speeds = [...new Set([...SPEEDS, settings.speed])].sort((a, b) => a - b);
  const speedOptions = speeds.map((speed) => ({ value: String(speed), text: `${speed} ×` }));
  fillOptions(byId("speed"), speedOptions, String(settings.speed));
  const tanks = storages.map(({ id, name }) => ({ value: String(id), text: name }));
  fillOptions(byId("storage"), tanks);
  const isDown = faults.some(({ name }) => name === OUTAGE.name);
  byId("outage").setAttribute("aria-pressed", String(isDown));
  byId("outage").textContent = isDown ? "Bring the service back" : "Take the service down";
}

byId("staff-auto").addEventListener("change", ({ target }) =>
  act(() => call("PATCH", "settings", { staff: { auto: target.checked } })),
);
byId("device-auto").addEventListener("change", ({ target }) =>
  act(() => call("PATCH", "settings", { device: { auto: target.checked } })),
);
byId("speed").addEventListener("change", ({ target }) =>
  act(() => call("PATCH", "settings", { speed: Number(target.value) })),
);
byId("refill").addEventListener("click", () =>
  act(() => call("POST", "refills", { storageId: Number(byId("storage").value) })),
);
byId("advance").addEventListener("click", () => act(() => call("POST", "advance", { ms: 60_000 })));
byId("outage").addEventListener("click", () =>
  act(async () => {
    const faults = await call("GET", "faults");
    const others = faults.filter(({ name }) => name !== OUTAGE.name);
    await call("PUT", "faults", others.length === faults.length ? [...others, OUTAGE] : others);
  }),
);

await refresh();
setInterval(refresh, REFRESH_MS);
