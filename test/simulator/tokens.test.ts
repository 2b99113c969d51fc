import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createFakeClock } from "./fake-clock.ts";
import { type Bench, withSimulator } from "./with-simulator.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const GRANT = "grant_type=client_credentials";
const BY_POST = `${GRANT}&client_id=cryobridge&client_secret=simulator-secret`;

const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString("base64")}`,
});

const askToken = ({ ask }: Bench, body: string, headers: Record<string, string> = {}) =>
  ask("/oauth/token", { method: "POST", token: null, body, headers: { ...FORM, ...headers } });

test.each([
  ["in the form", BY_POST, {}],
  ["in a Basic header", GRANT, basic("cryobridge", "simulator-secret")],
])("a token is given to a client that sends its credentials %s", (_way, body, headers) =>
  withSimulator({}, async (bench) => {
    const reply = await askToken(bench, body, headers);
    expect(reply.status).toBe(200);
    expect(reply.headers["cache-control"]).toBe("no-store");
    expect(reply.json).toEqual({ access_token: expect.any(String), token_type: "Bearer", expires_in: 3600 });
    const token = reply.json.access_token;
    expect((await bench.ask("/api/subjects", { token })).status).toBe(200);
  }),
);

test("credentials with colons and percent signs survive the Basic header", () => {
  const organizations: SimulatorOptions["organizations"] = [
    {
      id: 1,
      name: "One",
      facilities: [],
      clients: [{ clientId: "a:b", clientSecret: "p%q:+ü" }],
    },
  ];
  return withSimulator({ organizations }, async (bench) => {
    expect((await askToken(bench, GRANT, basic("a:b", "p%q:+ü"))).status).toBe(200);
  });
});

test.each([
  ["a wrong secret", BY_POST.replace("simulator", "other"), {}, 401, "invalid_client"],
  ["an unknown client", GRANT, basic("nobody", "simulator-secret"), 401, "invalid_client"],
  ["another grant", BY_POST.replace(GRANT, "grant_type=password"), {}, 400, "unsupported_grant_type"],
  ["no grant", BY_POST.replace(GRANT, ""), {}, 400, "invalid_request"],
  ["credentials sent twice", BY_POST, basic("cryobridge", "simulator-secret"), 400, "invalid_request"],
  ["a body that is no form", BY_POST, { "content-type": "application/json" }, 400, "invalid_request"],
])("%s is refused in OAuth's own shape", (_what, body, headers, status, error) =>
  withSimulator({ behaviour: { errorBody: "html" } }, async (bench) => {
    const reply = await askToken(bench, body, headers);
    expect([reply.status, reply.json.error]).toEqual([status, error]);
  }),
);

test("a way of authentication that is switched off is refused", () =>
  withSimulator({ tokens: { methods: ["basic"] } }, async (bench) => {
    expect((await askToken(bench, BY_POST)).status).toBe(401);
    expect((await askToken(bench, GRANT, basic("cryobridge", "simulator-secret"))).status).toBe(200);
  }));

test("a token is refused once its lifetime is over", async () => {
  const clock = createFakeClock();
  await withSimulator({ clock, tokens: { lifetimeMs: 5_000 } }, async (bench) => {
    const { json } = await askToken(bench, BY_POST);
    expect(json.expires_in).toBe(5);
    await clock.pass(4_999);
    expect((await bench.ask("/api/subjects", { token: json.access_token })).status).toBe(200);
    await clock.pass(1);
    const late = await bench.ask("/api/subjects", { token: json.access_token });
    expect(late.status).toBe(401);
    expect(late.headers["www-authenticate"]).toContain("invalid_token");
  });
});

test("the lifetime may be sent as a string or not at all", async () => {
  await withSimulator({ tokens: { expiresIn: "string" } }, async (bench) => {
    expect((await askToken(bench, BY_POST)).json.expires_in).toBe("3600");
  });
  await withSimulator({ tokens: { expiresIn: "absent" } }, async (bench) => {
    expect((await askToken(bench, BY_POST)).json).not.toHaveProperty("expires_in");
  });
});

test("revoking takes back access tokens, and no API token", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    const token = (await askToken(bench, BY_POST)).json.access_token;
    control.revokeTokens();
    expect((await bench.ask("/api/subjects", { token })).status).toBe(401);
    expect((await bench.ask("/api/subjects")).status).toBe(200);
  }));

test("a call without a token, or with an unknown one, is 401 before anything else is looked at", () =>
  withSimulator({}, async ({ ask, post }) => {
    expect((await ask("/api/subjects/1", { token: null })).status).toBe(401);
    expect((await post("/api/subjects", "{", { token: "nonsense" })).status).toBe(401);
  }));

test.each([
  ["no scope", GRANT, "invalid_scope"],
  ["another scope", `${GRANT}&scope=other&audience=urn:storage`, "invalid_scope"],
  ["no audience", `${GRANT}&scope=storage`, "invalid_request"],
  ["another audience", `${GRANT}&scope=storage&audience=urn:other`, "invalid_request"],
  ["a scope named twice", `${GRANT}&scope=storage&scope=storage&audience=urn:storage`, "invalid_request"],
])("%s is refused where scope and audience are wanted", (_what, body, error) =>
  withSimulator({ tokens: { scope: "storage", audience: "urn:storage" } }, async (bench) => {
    const reply = await askToken(bench, body, basic("cryobridge", "simulator-secret"));
    expect([reply.status, reply.json.error]).toEqual([400, error]);
  }),
);

test("the wanted scope may stand among others, and is sent back", () =>
  withSimulator({ tokens: { scope: "storage", audience: "urn:storage" } }, async (bench) => {
    const body = `${GRANT}&scope=profile+storage&audience=urn:storage`;
    const reply = await askToken(bench, body, basic("cryobridge", "simulator-secret"));
    expect(reply.json).toMatchObject({ scope: "profile storage", token_type: "Bearer" });
  }));

test("the token endpoint may stand elsewhere", () =>
  withSimulator({ tokens: { path: "/auth/v2/token" } }, async ({ ask }) => {
    const asking = { method: "POST", token: null, body: BY_POST, headers: FORM };
    expect((await ask("/oauth/token", asking)).status).toBe(404);
    expect((await ask("/auth/v2/token", asking)).status).toBe(200);
  }));
