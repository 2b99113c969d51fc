import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load.ts";
import { CONNECTORS, ConfigFolder, ENV, FACILITIES, MINIMAL, profileSchema, SERVICE } from "./config-file.ts";

describe("a configuration with mistakes", () => {
  it("is refused with all of them at once, each with its place", () => {
    using folder = new ConfigFolder();
    expect(
      folder.mistakes(`servce: 1
service:
  baseUrl: storage.example.org
  auth: { apiToken: "\${API_TOKEN}" }
  timeout: 15
  surface: requst
facilities:
  NORTH: 0
  SOUTH: nine
connectors:
  - name: lims
    type: hl7-drop
    direktory: ./lims
    profile: hl7-ordrs
`),
    ).toEqual([
      '1:1 servce: unknown key "servce"; did you mean "service"?',
      "3:12 service.baseUrl: expected an address such as https://storage.example.org, without user, password, ? and #",
      "5:12 service.timeout: expected a duration such as 500ms, 15s, 2m, 1h, 90d or 2y",
      '6:12 service.surface: expected one of request, external; got the text "requst"; did you mean "request"?',
      "8:10 facilities.NORTH: expected the service's id of the facility, a whole number above 0",
      "9:10 facilities.SOUTH: expected the service's id of the facility, or a section { id, surface, subjects }; got a text",
      "11:5 connectors[0].directory: missing; expected folder shared with the lab system",
      '13:5 connectors[0].direktory: unknown key "direktory"; did you mean "directory"?',
      '14:14 connectors[0].profile: unknown profile "hl7-ordrs"; there are: builtin/hl7-orders, builtin/csv-orders; one of your own is the file profiles/hl7-ordrs.yaml, or a section below profiles',
    ]);
  });

  it.each(["hl7-drop", "csv-drop"])("refuses files of %s that don't fit memory", (type) => {
    using folder = new ConfigFolder();
    const text = (maxBytes: string) =>
      `${SERVICE}${FACILITIES}connectors:\n  - { name: lims, type: ${type}, directory: ./lims, maxBytes: ${maxBytes} }\n`;
    expect(folder.mistakes(text("257MB"))).toEqual([
      expect.stringMatching(/connectors\[0\]\.maxBytes: expected 256MB or less$/),
    ]);
  });

  it("names the file in its message, once for each line", () => {
    using folder = new ConfigFolder();
    const file = folder.write("cryobridge.yaml", `${MINIMAL}consol: 1\nloog: 2\n`);
    expect(() => loadConfig(file, { env: ENV, profileSchema })).toThrow(
      expect.objectContaining({
        code: "CONFIG_INVALID",
        message: `${file}:7:1 consol: unknown key "consol"; did you mean "console"?\n${file}:8:1 loog: unknown key "loog"; did you mean "log"?`,
      }),
    );
  });

  it.each(["", ", requestCert: false"])(
    "refuses names of certificates where senders show none, since everybody could send (%s)",
    (requestCert) => {
      using folder = new ConfigFolder();
      const text = `${SERVICE}${FACILITIES}connectors:
  - name: lims
    type: mllp
    listen: { tls: { cert: c.pem, key: k.pem, allowSubjects: [lims]${requestCert} } }
    results: { directory: ./out }
`;
      expect(folder.mistakes(text)).toEqual([
        expect.stringMatching(
          /^8:\d+ connectors\[0\]\.listen\.tls\.allowSubjects: names certificates that no sender is asked for; set requestCert: true/,
        ),
      ]);
    },
  );

  it("says what an MLLP connector wants", () => {
    using folder = new ConfigFolder();
    const text = `${SERVICE}${FACILITIES}connectors:
  - name: lims
    type: mllp
    listen: { prot: 2575, allow: [somewhere], frame: 3 }
`;
    expect(folder.mistakes(text)).toEqual([
      "6:5 connectors[0].results: missing; expected where results go: host and port of the lab system, or directory for files",
      '8:15 connectors[0].listen.prot: unknown key "prot"; did you mean "port"?',
      "8:35 connectors[0].listen.allow[0]: expected an address such as 10.1.2.3 or a network such as 10.1.0.0/16",
      "8:54 connectors[0].listen.frame: expected a duration such as 500ms, 15s, 2m, 1h, 90d or 2y",
    ]);
  });

  it("are reported with the choices when a connector doesn't say what it is, and with the key that may be meant", () => {
    using folder = new ConfigFolder();
    const text = `${SERVICE}${FACILITIES}connectors: [{ name: lims, typ: hl7-drop, directory: ./lims }, { name: b }]\n`;
    const mistakes = folder.mistakes(text).map((line) => line.replace(/^\S+ /, ""));
    expect(mistakes).toContain(
      'connectors[0].type: missing; expected one of hl7-drop, csv-drop, mllp; is "typ" meant for it?',
    );
    expect(mistakes).toContain("connectors[1].type: missing; expected one of hl7-drop, csv-drop, mllp");
  });

  it("warns of a console that other machines reach over plain HTTP", () => {
    using folder = new ConfigFolder();
    const warned = (host: string) =>
      folder
        .load(
          `${SERVICE}${FACILITIES}${CONNECTORS}console: { host: "${host}", token: sixteen-letters-or-more }\n`,
        )
        .warnings.map(({ path, message }) => `${path}: ${message}`)
        .join("\n");
    for (const host of ["0.0.0.0", "::", "192.168.7.7", "lims.example.org"]) {
      expect(warned(host)).toContain("console.host: other machines reach the console over plain HTTP");
    }
    for (const host of ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"]) {
      expect(warned(host)).not.toContain("plain HTTP");
    }
  });

  it("warns of a port for messages that other machines reach without TLS", () => {
    using folder = new ConfigFolder();
    const connector = (listen: string) =>
      `${SERVICE}${FACILITIES}connectors: [{ name: lims, type: mllp, listen: ${listen}, results: { directory: out } }]`;
    const warned = (listen: string) => folder.load(connector(listen)).warnings.map(({ message }) => message);
    expect(warned("{ host: 0.0.0.0 }").join()).toContain("other machines send to this port without TLS");
    expect(warned("{ host: 0.0.0.0, tls: { cert: c.pem, key: k.pem } }").join()).not.toContain("without TLS");
    expect(warned("{ host: 127.0.0.1 }").join()).not.toContain("without TLS");
  });

  it("is judged by the form of authorisation that was meant", () => {
    using folder = new ConfigFolder();
    const text = `${FACILITIES}${CONNECTORS}service:
  baseUrl: https://storage.example.org
  auth: { tokenUrl: "https://a.example.org", clientId: x, clientsecret: y, metod: post }
`;
    expect(folder.mistakes(text)).toEqual([
      "6:3 service.auth.clientSecret: missing; expected client secret",
      '6:59 service.auth.clientsecret: unknown key "clientsecret"; did you mean "clientSecret"?',
      '6:76 service.auth.metod: unknown key "metod"; did you mean "method"?',
    ]);
  });

  it("never repeats a credential that stands in the wrong place", () => {
    using folder = new ConfigFolder();
    const text = `${FACILITIES}${CONNECTORS}service:
  baseUrl: https://user:hunter2@storage.example.org
  auth: hunter2
database: { url: "mysql://u:hunter2@h/x" }
queue: { backend: redis, url: "hunter2" }
console: { token: hunter2 }
`;
    const mistakes = folder.mistakes(text);
    expect(mistakes).toHaveLength(5);
    expect(mistakes.join()).not.toContain("hunter2");
  });

  it("keeps a facility id to what the service's integers can be", () => {
    using folder = new ConfigFolder();
    expect(
      folder.mistakes(`${SERVICE}${CONNECTORS}facilities: { A: 9007199254740993, B: 1.5, C: -1 }`),
    ).toHaveLength(3);
  });

  it("refuses two connectors that differ in the case of their name only", () => {
    using folder = new ConfigFolder();
    const text = `${SERVICE}${FACILITIES}connectors:
  - { name: lims, type: hl7-drop, directory: a }
  - { name: LIMS, type: csv-drop, directory: b }
`;
    expect(folder.mistakes(text)).toEqual([
      '7:13 connectors[1].name: another connector is called "LIMS"; give each a name of its own',
    ]);
  });

  it("refuses two ways to one Redis", () => {
    using folder = new ConfigFolder();
    const queue = `queue: { backend: redis, url: "rediss://h", cluster: [{ host: h }] }`;
    expect(folder.mistakes(`${MINIMAL}${queue}`)).toEqual([
      "7:8 queue: expected one of url, sentinels and cluster; got url and cluster",
    ]);
  });

  it("wants reconcile.giveUpAfter to outlast a call", () => {
    using folder = new ConfigFolder();
    const text = MINIMAL.replace("  auth:", "  reconcile: { giveUpAfter: 10s, checks: [5s] }\n  auth:");
    expect(folder.mistakes(text)).toEqual([
      "3:29 service.reconcile.giveUpAfter: must be longer than service.timeout: a call that is still under way can't be called lost",
    ]);
  });
});
