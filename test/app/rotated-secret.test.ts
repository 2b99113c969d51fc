import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { openService } from "../../src/app/service.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { StubService, send } from "../service/stub-service.ts";
import { never } from "../service/with-client.ts";
import { siteConfig } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

/** The client and secret by which a daemon proves itself once its file has these credentials instead of those that run. */
async function provenBy(change: Readonly<Record<string, string>>): Promise<string | undefined> {
  const stub = await new StubService().start();
  stub.intercept = (_, response) => {
    send(response, 200, { access_token: "t1", token_type: "Bearer", expires_in: 60 });
    return true;
  };
  try {
    return await withFolder(async (folder) => {
      const file = join(folder, "cryobridge.yaml");
      const tokenUrl = `${stub.baseUrl}/oauth/token`;
      const read = async (auth: object) => {
        const whole = siteConfig(folder, stub.baseUrl, "postgres://127.0.0.1/x");
        const service = { ...(whole.service as object), auth };
        await writeFile(file, stringify({ ...whole, service }), { mode: 0o600 });
        return loadConfig(file, { env: {}, profileSchema });
      };
      const running = { tokenUrl, clientId: "bridge", clientSecret: "first" };
      const first = await read(running);
      const second = await read({ ...running, ...change });
      const client = openService(first, { clock: systemClock, logger: silent }, () => second);
      await client.checkToken(never);
      await client.close();
      const [request] = stub.seen;
      return Buffer.from(request?.headers.authorization?.slice("Basic ".length) ?? "", "base64").toString();
    });
  } finally {
    await stub.stop();
  }
}

test("a secret that was replaced in the file is the one that is used", async () => {
  expect(await provenBy({ clientSecret: "second" })).toBe("bridge:second");
  expect(await provenBy({ clientSecret: "second", scope: "samples" })).toBe("bridge:second");
});

test("the secret of another client, or for another token endpoint, waits for a restart as those do", async () => {
  expect(await provenBy({ clientId: "other", clientSecret: "second" })).toBe("bridge:first");
  expect(await provenBy({ tokenUrl: "http://127.0.0.1:9/token", clientSecret: "second" })).toBe(
    "bridge:first",
  );
});
