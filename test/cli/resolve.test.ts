import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { csvMessage, PATIENT, withLab } from "./with-lab.ts";

const PARK =
  "update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'no trace'";

const NAMES = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };

describe("orders resolve for an order of the external surface", () => {
  const wanted = `insert into calls (order_id, kind, surface, mark, outcome, ended_at)
                  select id, 'request', 'external', mark, 'nothing', now() from orders`;
  const REASON = ["--reason", "staff found it"];

  it("links it to the procedure that was found", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK);
      await pool.query(wanted);
      const done = await cli([
        "orders",
        "resolve",
        "C-1",
        "--procedure-id",
        "2002",
        "--unchecked",
        ...REASON,
      ]);
      expect(done.status).toBe(0);
      const { rows } = await pool.query("select state, request_id, procedure_id::integer from orders");
      expect(rows).toEqual([{ state: "submitted", request_id: null, procedure_id: 2002 }]);
      const shown = await cli(["orders", "show", "C-1"]);
      expect(shown.stdout).toMatch(/linked to procedure 2002 by .+: staff found it\n/);
      expect(JSON.parse((await cli(["orders", "show", "C-1", "--json"])).stdout)).toMatchObject({
        orders: [{ surface: "external", requestId: null, procedureId: 2002 }],
      });
    }));

  it.each([
    ["a request", ["--request-id", "1"], "goes by the external surface"],
    ["both", ["--request-id", "1", "--procedure-id", "2"], "with --request-id N or"],
    ["nothing", [], "with --request-id N or"],
  ])("is refused with %s named", (_words, words, said) =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK);
      await pool.query(wanted);
      const done = await cli(["orders", "resolve", "C-1", ...words, "--unchecked"]);
      expect(done.status).toBe(2);
      expect(done.stderr).toContain(said);
      expect((await pool.query("select state from orders")).rows).toEqual([{ state: "parked" }]);
    }),
  );

  it("asks the service whether the procedure is for the order's subject, type and containers", () =>
    withLab(async ({ cli, take, pool, configFile }) => {
      const simulator = await createSimulator({ port: 0 });
      try {
        const text = await readFile(configFile, "utf8");
        await writeFile(
          configFile,
          text
            .replace("http://127.0.0.1:9", simulator.url)
            .replace(/auth: .*/, "auth: { apiToken: simulator-api-token }"),
        );
        const make = async (subjectCode: string, name: string) => {
          simulator.control.addSubject({ facilityId: 12, code: subjectCode, ...NAMES });
          const answer = await fetch(`${simulator.url}/api/v1/external/procedures`, {
            method: "POST",
            headers: { authorization: "Bearer simulator-api-token", "content-type": "application/json" },
            body: JSON.stringify({
              type: "STORE",
              facilityId: 12,
              subjectCode,
              sampleContainers: [{ name, description: "" }],
            }),
          });
          return String(((await answer.json()) as { id: number }).id);
        };
        const ours = await make(PATIENT.code, "V-1");
        const otherSubject = await make("S-OTHER", "V-1");
        const otherLabel = await make(PATIENT.code, "V-9");
        await take("bench", [csvMessage(1)]);
        await pool.query(PARK);
        await pool.query(wanted);
        for (const wrong of [otherSubject, otherLabel, "999999"]) {
          const done = await cli(["orders", "resolve", "C-1", "--procedure-id", wrong]);
          expect(done.status).toBe(1);
          expect(done.stderr).toContain(
            `the service shows no STORE procedure ${wrong} for the order's subject`,
          );
        }
        expect((await cli(["orders", "resolve", "C-1", "--procedure-id", ours])).status).toBe(0);
      } finally {
        await simulator.close();
      }
    }));

  it("is refused for a procedure where an order of the request surface is meant", () =>
    withLab(async ({ cli, take, pool }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARK);
      const done = await cli(["orders", "resolve", "C-1", "--procedure-id", "2", "--unchecked"]);
      expect(done.status).toBe(2);
      expect(done.stderr).toContain("goes by the request surface");
    }));
});
