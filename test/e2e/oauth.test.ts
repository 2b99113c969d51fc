import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { ROLES } from "../../src/core/role.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { type AuthorizationServer, withAuthorizationServer } from "../support/authorization-server.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** A resource server: lets through what carries a valid token, with a credential of its own. */
interface Gate {
  readonly url: string;
  target: string;
  /** The token of the last call that got through. */
  token: string;
  close(): Promise<void>;
}

async function startGate(authorization: AuthorizationServer): Promise<Gate> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const token = request.headers.authorization?.replace("Bearer ", "") ?? "";
    if (!(await authorization.inspect(token))) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end('{"error":"invalid_token"}');
      return;
    }
    gate.token = token;
    const answer = await fetch(gate.target + (request.url ?? ""), {
      method: request.method ?? "GET",
      headers: { authorization: "Bearer simulator-api-token", "content-type": "application/json" },
      ...(body === "" ? {} : { body }),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gate: Gate = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target: "",
    token: "",
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return gate;
}

test("a daemon whose secret is refused takes orders in, says so, and goes on once the secret's file is right", () =>
  withAuthorizationServer({ lifeSeconds: 600 }, async (authorization) => {
    authorization.register({ id: "lab", secret: "right-1" });
    const gate = await startGate(authorization);
    const auth = { tokenUrl: authorization.tokenUrl, clientId: "lab", clientSecret: `\${OAUTH_SECRET}` };
    const parts = { config: { service: { baseUrl: gate.url, auth } } };
    await withSite(parts, async (site) => {
      gate.target = site.simulator.url;
      const secretFile = join(site.folder, "secret");
      await writeFile(secretFile, "wrong\n");
      const load = () =>
        loadConfig(site.configFile, { env: { OAUTH_SECRET_FILE: secretFile }, profileSchema });
      const daemon = await startDaemon(load(), {
        roles: new Set(ROLES),
        logger: silent,
        readAgain: load,
        onFatal: (failure) => {
          throw failure;
        },
      });
      try {
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
        await site.drop("csv", "b.csv", labCsv([{ number: "B-1" }, { number: "B-2" }]));
        await eventually(() => daemon.conditions().some(({ text }) => /credentials are refused/.test(text)));
        await site.waitForOrders(3, ["received", "submitting"]);
        expect(site.simulator.tally().journal).toEqual([]);

        await writeFile(secretFile, "right-1\n");
        const orders = await site.waitForOrders(3, ["completed"]);
        expect(orders.map((order) => order.failure)).toEqual([undefined, undefined, undefined]);
        expect(daemon.conditions()).toEqual([]);

        // Rotated at the server first, and the token of the old secret revoked.
        authorization.register({ id: "lab", secret: "right-2" });
        await authorization.revoke(gate.token);
        await site.drop("hl7", "c.hl7", omlO33({ number: "A-2" }));
        await eventually(() => daemon.conditions().some(({ text }) => /credentials are refused/.test(text)));
        await writeFile(secretFile, "right-2\n");
        await site.waitForOrders(4, ["completed"]);
        expect(site.simulator.tally().doubled).toEqual([]);
        expect(site.simulator.tally().journal).toHaveLength(4);
      } finally {
        await daemon.stop();
      }
    });
    await gate.close();
  }));
