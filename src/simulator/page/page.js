// The page of the simulator: shows what the service knows once a second and sends what the person decides.
import { ask } from "/simulator/page-ask.js";
import { fillCounts, fillOptions, fillRows } from "/simulator/page-rows.js";

const REFRESH_MS = 1000;
const OUTAGE = { name: "taken down on the page", path: "/**", status: 503, body: "html" };
const SPEEDS = [1, 10, 60, 300, 3600];
const FAIL_REASONS = ["device error: lid did not open", "RFID tag could not be read", "no liquid nitrogen"];

const byId = (id) => document.getElementById(id);
let state;

/** Sends one call to the control surface and gives the answer. */
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

function notice(text, isBad = false) {
  byId("notice").textContent = text;
  byId("notice").classList.toggle("bad", isBad);
}

/** Does something that the person asked for, and says on the page how it went. */
async function act(what, work) {
  try {
    await work();
    notice(what);
  } catch (error) {
    notice(`Not done: ${error.message}`, true);
  }
  await refresh();
}

const nameOf = (row) => row.code ?? `Request ${row.id}`;

/** An act that needs nothing but a press. */
const plain = (kind, name, done) => ({
  name: name[0].toUpperCase() + name.slice(1),
  act: (row) => act(`${nameOf(row)} ${done}`, () => call("POST", `${kind}/${row.id}/${name}`, {})),
});

const fail = {
  name: "Fail…",
  act: async (row) => {
    const given = await ask({
      title: `Fail ${nameOf(row)}`,
      ok: "Fail it",
      fields: [{ name: "error", label: "Reason", value: FAIL_REASONS[0], choices: FAIL_REASONS }],
    });
    if (given) await act(`${nameOf(row)} failed`, () => call("POST", `procedures/${row.id}/fail`, given));
  },
};

const tag = {
  name: "Associate RFID…",
  act: async (row) => {
    const untagged = row.containers.filter(({ rfidTag }) => !rfidTag);
    const given = await ask({
      title: `Associate RFID tags for ${nameOf(row)}`,
      ok: "Associate",
      fields: untagged.map(({ id, name }) => ({
        name: String(id),
        label: `Tag of ${name}`,
        value: `E200-${id}`,
        isOptional: true,
      })),
    });
    if (!given) return;
    await act(`${nameOf(row)}: tags associated`, async () => {
      for (const [id, text] of Object.entries(given)) {
        if (text === "") continue;
        await call("POST", `procedures/${row.id}/tag`, { containerId: Number(id), tag: text });
      }
    });
  },
};

const transfer = {
  name: "Transfer…",
  act: async (row) => {
    const tanks = state.storages.filter(
      ({ id, facilityId, isRegistered }) =>
        facilityId === row.facilityId && isRegistered && id !== row.slot.storageId,
    );
    const given = await ask({
      title: `Transfer ${row.name}`,
      ok: "Create the transfer",
      fields: [
        { name: "storageId", label: "To", options: tanks.map(({ id, name }) => ({ value: id, text: name })) },
      ],
    });
    if (!given) return;
    const body = { containerIds: [row.id], storageId: Number(given.storageId) };
    await act(`Transfer of ${row.name} created`, () => call("POST", "transfers", body));
  },
};

const retrieve = {
  name: "Retrieve",
  act: (row) => {
    const { facilityId, subjectCode } = row;
    const body = { type: "RETRIEVAL", facilityId, subjectCode, containerIds: [row.id] };
    return act(`Retrieval of ${row.name} created`, () => call("POST", "procedures", body));
  },
};

const REQUEST_ACTS = {
  PENDING: [
    plain("requests", "accept", "accepted"),
    plain("requests", "reject", "rejected"),
    plain("requests", "cancel", "cancelled"),
  ],
};
const start = plain("procedures", "start", "started");
const complete = plain("procedures", "complete", "completed");
const cancel = plain("procedures", "cancel", "cancelled");
const PROCEDURE_ACTS = { CREATED: [start, fail, cancel], IN_PROGRESS: [complete, fail, cancel] };

function procedureActs(row) {
  if (row.status !== "PENDING") return PROCEDURE_ACTS[row.status] ?? [];
  return [row.type === "STORE" ? tag : plain("procedures", "accept", "accepted"), cancel];
}

async function refresh() {
  const read = await call("GET", "state?limit=200").catch(() => undefined);
  if (!read) return notice("The simulator does not answer.", true);
  state = read;
  const { settings, counts, requests, procedures, stored, storages, faults } = state;
  fillCounts(byId("counts"), [
    ["Subjects", counts.subjects],
    ["To review", (counts.requests.PENDING ?? 0) + (counts.procedures.PENDING ?? 0)],
    ["Under way", (counts.procedures.CREATED ?? 0) + (counts.procedures.IN_PROGRESS ?? 0)],
    ["In storage", counts.stored],
  ]);
  fillRows("requests", requests, (row) => REQUEST_ACTS[row.status] ?? []);
  fillRows("procedures", procedures, procedureActs);
  fillRows("stored", stored, () => [retrieve, transfer]);
  for (const part of ["staff", "device", "refills"]) byId(`${part}-auto`).checked = settings[part].auto;
  const speeds = [...new Set([...SPEEDS, settings.speed])].sort((a, b) => a - b);
  fillOptions(
    byId("speed"),
    speeds.map((speed) => ({ value: String(speed), text: `${speed} ×` })),
    String(settings.speed),
  );
  const tanks = storages.filter(({ isRegistered }) => isRegistered);
  fillOptions(
    byId("storage"),
    tanks.map(({ id, name }) => ({ value: String(id), text: name })),
  );
  const isDown = faults.some(({ name }) => name === OUTAGE.name);
  byId("outage").setAttribute("aria-pressed", String(isDown));
  byId("outage").textContent = isDown ? "Bring the service back" : "Take the service down";
}

for (const part of ["staff", "device", "refills"]) {
  byId(`${part}-auto`).addEventListener("change", ({ target }) =>
    act(`Automatic ${part} ${target.checked ? "on" : "off"}`, () =>
      call("PATCH", "settings", { [part]: { auto: target.checked } }),
    ),
  );
}
byId("speed").addEventListener("change", ({ target }) =>
  act(`Speed ${target.value}`, () => call("PATCH", "settings", { speed: Number(target.value) })),
);
byId("refill").addEventListener("click", () =>
  act("Refill created", () => call("POST", "refills", { storageId: Number(byId("storage").value) })),
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

const facilityField = () => ({
  name: "facilityId",
  label: "Facility",
  options: state.facilities.map(({ id, name }) => ({ value: id, text: name })),
});

byId("register").addEventListener("click", async () => {
  const given = await ask({
    title: "Register a tank",
    ok: "Create the procedure",
    fields: [facilityField(), { name: "name", label: "Its name" }],
  });
  if (!given) return;
  const body = { facilityId: Number(given.facilityId), name: given.name };
  await act(`Registration of ${given.name} created`, () => call("POST", "storage-registrations", body));
});
byId("new-store").addEventListener("click", async () => {
  const given = await ask({
    title: "Store without a request",
    ok: "Create the procedure",
    fields: [
      facilityField(),
      { name: "subjectCode", label: "Subject" },
      { name: "labels", label: "Labels, with commas between" },
    ],
  });
  if (!given) return;
  const labels = given.labels
    .split(",")
    .map((label) => label.trim())
    .filter(Boolean);
  const body = {
    type: "STORE",
    facilityId: Number(given.facilityId),
    subjectCode: given.subjectCode,
    containers: labels.map((name) => ({ name, description: "" })),
  };
  await act("Storage created", () => call("POST", "procedures", body));
});

await refresh();
setInterval(refresh, REFRESH_MS);
