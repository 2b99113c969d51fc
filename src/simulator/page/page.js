// The page of the simulator: shows what the service knows once a second and sends what the person decides.
const REFRESH_MS = 1000;
const OUTAGE = { name: "taken down on the page", path: "/**", status: 503, body: "html" };
const SPEEDS = [1, 10, 60, 300, 3600];
const LOOK = {
  ...{ PENDING: "wait", CREATED: "wait", ACCEPTED: "good", COMPLETED: "good" },
  ...{ REJECTED: "bad", FAILED: "bad", CANCELLED: "bad" },
};

const byId = (id) => document.getElementById(id);
const clock = (moment) => new Date(moment).toLocaleTimeString();

/** Sends one call to the control surface and gives the answer. */
async function call(method, path, body) {
  const response = await fetch(`/simulator/${path}`, {
    method,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

function notice(text, look = "") {
  byId("notice").textContent = text;
  byId("notice").dataset.look = look;
}

/** Does something that the person asked for, and says on the page how it went. */
async function act(what, work) {
  try {
    await work();
    notice(what);
  } catch (error) {
    notice(`Not done: ${error.message}`, "bad");
  }
  await refresh();
}

/** A button of a row, which posts a body to a path of the control surface. */
const post = (name, path, body = {}) => ({ name, path, body });
const ofRequest = ({ id, status }) =>
  status === "PENDING"
    ? ["Accept", "Reject", "Cancel"].map((name) => post(name, `requests/${id}/${name.toLowerCase()}`))
    : [];

function ofProcedure({ id, status }) {
  const named = (...names) => names.map((name) => post(name, `procedures/${id}/${name.toLowerCase()}`));
  if (status === "CREATED") return named("Start", "Fail", "Cancel");
  if (status === "IN_PROGRESS") return named("Complete", "Fail", "Cancel");
  if (status !== "PENDING") return [];
  return named("Accept", "Cancel");
}

const ofStored = ({ id, facilityId, subjectCode }) => [
  post("Retrieve", "procedures", { type: "RETRIEVAL", facilityId, subjectCode, containerIds: [id] }),
];
const ofStorage = ({ id }) => [post("Request refill", "refills", { storageId: id })];

function cell(text, { className = "", look = "" } = {}) {
  const td = document.createElement("td");
  td.textContent = text;
  td.className = className;
  td.dataset.look = look;
  td.title = className ? text : "";
  return td;
}

function orderCells(row) {
  const containers = row.labels.length > 0 ? row.labels.join(", ") : (row.storage ?? "–");
  const why = row.error ?? (row.acceptedBy ? `by ${row.acceptedBy}` : "");
  return [
    ...[row.code ?? row.id, row.type, row.facility ?? "–", row.subjectCode ?? "–"].map((text) => cell(text)),
    cell(containers, { className: "containers" }),
    cell(clock(row.createdAt)),
    cell(`${row.status} ${why}`, { look: LOOK[row.status] }),
  ];
}

const storedCells = ({ id, name, subjectCode, storage, slot, storedAt }) => {
  const place = `${slot.canister}, ${slot.cane}, ${slot.slot}`;
  return [id, name, subjectCode, storage, place, clock(storedAt)].map((text) => cell(text));
};

/** Shows the rows of a table. They are replaced only when they differ; who uses the keyboard stays where they were. */
function fillRows(table, rows, cellsOf, actsOf) {
  const body = byId(table);
  const shown = JSON.stringify(rows);
  if (body.dataset.shown === shown) return;
  body.dataset.shown = shown;
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset : undefined;
  const lines = rows.map((row) => {
    const tr = document.createElement("tr");
    const acts = cell("");
    for (const { name, path, body: sent } of actsOf(row)) {
      const what = `${name} ${row.code ?? row.name ?? `request ${row.id}`}`;
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: name });
      Object.assign(button.dataset, { row: row.id, key: `${row.id} ${name}` });
      button.setAttribute("aria-label", what);
      button.addEventListener("click", () => act(`${what}: done`, () => call("POST", path, sent)));
      acts.append(button);
    }
    tr.append(...cellsOf(row), acts);
    return tr;
  });
  body.replaceChildren(...lines);
  if (!focused) return;
  const buttons = [...body.querySelectorAll("button")];
  const same = buttons.find(({ dataset }) => dataset.key === focused.key);
  (same ?? buttons.find(({ dataset }) => dataset.row === focused.row) ?? byId(`${table}-title`)).focus();
}

async function refresh() {
  const state = await call("GET", "state?limit=200").catch(() => undefined);
  if (!state) return notice("The simulator does not answer.", "bad");
  const { settings, counts, requests, procedures, stored, storages, facilities, faults } = state;
  const toReview = (counts.requests.PENDING ?? 0) + (counts.procedures.PENDING ?? 0);
  const underWay = (counts.procedures.CREATED ?? 0) + (counts.procedures.IN_PROGRESS ?? 0);
  byId("counts").textContent =
    `${counts.subjects} subjects · ${toReview} to review · ${underWay} under way · ${counts.stored} in storage`;
  fillRows("requests", requests, orderCells, ofRequest);
  fillRows("procedures", procedures, orderCells, ofProcedure);
  fillRows("stored", stored, storedCells, ofStored);
  const nameOf = (facilityId) => facilities.find(({ id }) => id === facilityId)?.name ?? "–";
  const tankCells = ({ id, name, facilityId }) => [id, name, nameOf(facilityId)].map((text) => cell(text));
  fillRows("storages", storages, tankCells, ofStorage);
  for (const part of ["staff", "device", "refills"]) byId(part).checked = settings[part].auto;
  const speed = byId("speed");
  if (document.activeElement !== speed) {
    const speeds = [...new Set([...SPEEDS, settings.speed])].sort((a, b) => a - b);
    speed.replaceChildren(...speeds.map((each) => new Option(`${each} ×`, each)));
    speed.value = settings.speed;
  }
  const isDown = faults.some(({ name }) => name === OUTAGE.name);
  byId("outage").setAttribute("aria-pressed", String(isDown));
  byId("outage").textContent = isDown ? "Bring the service back" : "Take the service down";
}

for (const part of ["staff", "device", "refills"]) {
  byId(part).addEventListener("change", ({ target }) =>
    act(`Automatic ${part} ${target.checked ? "on" : "off"}`, () =>
      call("PATCH", "settings", { [part]: { auto: target.checked } }),
    ),
  );
}
byId("speed").addEventListener("change", ({ target }) =>
  act(`Speed ${target.value}`, () => call("PATCH", "settings", { speed: Number(target.value) })),
);
byId("advance").addEventListener("click", () =>
  act("A minute has passed", () => call("POST", "advance", { ms: 60_000 })),
);
byId("revoke").addEventListener("click", () =>
  act("All access tokens are revoked", () => call("POST", "revoke-tokens", {})),
);
byId("outage").addEventListener("click", () =>
  act("Done", async () => {
    const faults = await call("GET", "faults");
    const others = faults.filter(({ name }) => name !== OUTAGE.name);
    await call("PUT", "faults", others.length === faults.length ? [...others, OUTAGE] : others);
  }),
);

await refresh();
setInterval(refresh, REFRESH_MS);
