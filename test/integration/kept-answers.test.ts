import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { startEchoFront } from "../support/echo-front.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

const PERSON = { firstName: "Vexindra", lastName: "Qzorblatt", birth: "19310719" };
const SECRETS = /Vexindra|Qzorblatt|1931|CNRY/i;

/** A service that refuses what has this mark in it, and quotes all that it was sent. */
const ECHOES = [
  {
    mark: "CNRY-REFUSED",
    method: "POST",
    path: "/api/procedure-requests",
    status: 409,
    contentType: "application/json",
    body: (sent: string) =>
      JSON.stringify({
        error: {
          code: "TANK_FULL",
          message: `no room: ${sent}`,
          record: JSON.parse(sent.slice(sent.indexOf("{"))),
        },
      }),
  },
  {
    mark: "CNRY-OPEN",
    method: "POST",
    path: "/api/procedure-requests",
    status: 502,
    contentType: "text/html",
    body: (sent: string) => `<html><title>502 Bad Gateway</title><p>${sent}</p></html>`,
  },
] as const;

test("what the service answered to a refused or unanswered call is shown as it came to the operator who asks, and to nobody else", () =>
  withSite({}, async (site) => {
    const front = await startEchoFront(site.simulator.url, ECHOES);
    try {
      const config = await readFile(site.configFile, "utf8");
      await writeFile(site.configFile, config.replaceAll(site.simulator.url, front.url));
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "CNRY-REFUSED", ...PERSON }));
      await site.drop("hl7", "b.hl7", omlO33({ number: "A-2", subject: "CNRY-OPEN", ...PERSON }));
      const show = async (...words: string[]) =>
        (await runCli(["--config", site.configFile, "orders", "show", ...words])).stdout;

      const answered = (number: string, state: string) =>
        eventually(
          async () => {
            const [order] = JSON.parse(await show(number, "--json")).orders ?? [];
            return order?.state === state && order.answers.length > 0 ? order : undefined;
          },
          { what: `an answer to ${number}` },
        );
      const refused = await answered("A-1", "parked");
      expect(refused.reason).toMatchObject({
        code: "SERVICE_REFUSED",
        text: expect.stringContaining("TANK_FULL"),
      });
      expect(refused.answers).toEqual([
        expect.objectContaining({
          method: "POST",
          route: "/api/procedure-requests",
          status: 409,
          shape: "json",
          contentType: "application/json",
          errorCode: "TANK_FULL",
          takenAs: "SERVICE_REFUSED",
          takenAsClass: "permanent",
          times: 1,
        }),
      ]);
      // The service's own words may be about anybody.
      expect(refused.answers[0].body).toBe("••••");
      const shown = JSON.parse(await show("A-1", "--json", "--show-phi")).orders[0].answers[0].body;
      expect(JSON.parse(shown).error.record).toMatchObject({ type: "STORE", subjectCode: "CNRY-REFUSED" });

      await answered("A-2", "submitting");
      const words = await show("A-2");
      expect(words).toContain("Answers of the service");
      expect(words).toMatch(
        /POST \/api\/procedure-requests: status 502, text\/html; taken as SERVICE_NO_ANSWER/,
      );
      expect(words).not.toContain("502 Bad Gateway");
      expect(await show("A-2", "--show-phi")).toContain("502 Bad Gateway");

      for (const text of [await show("A-1"), await show("A-1", "--json"), words])
        expect(text).not.toMatch(SECRETS);
      const { rows } = await site.pool.query<{ text: string }>("select a::text as text from order_answers a");
      expect(rows).toHaveLength(2);
    } finally {
      await front.close();
    }
  }));
