import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openAlerts } from "../../src/app/alerts.ts";
import type { Daemon } from "../../src/app.ts";
import { systemClock } from "../../src/core/clock.ts";
import { ALERT_KINDS } from "../../src/core/condition-kinds.ts";
import { findInstanceCode } from "../../src/ledger/migrate.ts";
import { pauseQueue } from "../../src/ledger/operator/queues.ts";
import { reportToOthers } from "../../src/ledger/workers/service-pause.ts";
import { withMailServer, withReceiver } from "../alerts/receivers.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const never = new AbortController().signal;
const KEY = "invented-key-of-the-hook";

/** A program that adds each line that it gets to a file. */
const APPEND = `import { appendFileSync } from "node:fs";
let text = "";
for await (const chunk of process.stdin) text += chunk;
appendFileSync(process.argv[2], text);`;

/** A daemon that watches its alerts, until it is stopped. */
async function start(site: Site): Promise<Pick<Daemon, "service" | "stop">> {
  const daemon = await site.start();
  const parts = { version: "0", logger: silent, clock: systemClock, path: process.env.PATH };
  const close = openAlerts(daemon, parts);
  const stop = async () => {
    await close();
    await daemon.stop();
  };
  return { service: daemon.service, stop };
}

async function listed(site: Site) {
  const { stdout } = await runCli(["--config", site.configFile, "alerts", "--json"]);
  return (JSON.parse(stdout) as { alerts: Record<string, unknown>[] }).alerts;
}

test("a service that goes away and comes back is reported once at the start and once at the end to each place, though the daemon is started anew meanwhile", () =>
  withReceiver(KEY, (hook) =>
    withMailServer(async ({ port, mails }) => {
      const alerts = {
        checkEvery: "250ms",
        // A daemon that starts may take its time to hear of the outage.
        overAfter: "1h",
        rules: {
          // A busy machine has troubles of its own.
          ...Object.fromEntries(ALERT_KINDS.map((kind) => [kind, { on: false }])),
          serviceUnreachable: { after: "200ms" },
          queuePaused: { after: "200ms" },
        },
        to: [
          { type: "log" },
          { type: "webhook", url: hook.url, secret: KEY },
          {
            type: "email",
            host: "127.0.0.1",
            port,
            tls: "none",
            from: "a@lab.example",
            to: ["b@lab.example"],
          },
        ],
      };
      await withSite({ config: { alerts } }, async (site) => {
        const script = join(site.folder, "append.mjs");
        const got = join(site.folder, "got.jsonl");
        await writeFile(script, APPEND);
        await writeFile(got, "");
        const text = await readFile(site.configFile, "utf8");
        const command = `    - { type: command, command: ["${process.execPath}", "${script}", "${got}"] }\n`;
        await writeFile(
          site.configFile,
          text.replace(/^ {2}to:\n/m, (to) => `${to}${command}`),
        );
        const commands = async () =>
          (await readFile(got, "utf8"))
            .split("\n")
            .flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
        const events = async () => ({
          hook: hook.taken.map(({ news }) => news.id),
          mail: mails.map((mail) => /^Message-ID: <(.*)@/m.exec(mail)?.[1]),
          command: (await commands()).map(({ id }: { id: string }) => id),
        });

        const first = await start(site);
        site.simulator.control.setFaults([{ path: "/**", before: "drop" }]);
        while (first.service?.breaker.state === "closed")
          await first.service.getRequest(1, never).catch(() => undefined);
        // A daemon that ends before it knows that a message was taken sends that again, with the same id.
        const areSent = async (count: number) => {
          const { rows } = await site.pool.query<{ sent: number }>(
            "select count(sent_at)::int as sent from alert_messages",
          );
          return rows[0]?.sent === count;
        };
        await eventually(() => areSent(4), { what: "the news of the outage at each place" });
        await first.stop();
        const second = await start(site);
        // What is reported of something else meanwhile, is reported without a word of the outage.
        await pauseQueue(site.pool, "deliver", { actor: "kim", reason: "a trial" });
        await eventually(() => areSent(8), { what: "the news of the paused queue at each place" });
        const isGone = async () => {
          const gone = "select gone_since is not null as gone from alerts where kind = 'serviceUnreachable'";
          return (await site.pool.query<{ gone: boolean }>(gone)).rows[0]?.gone;
        };
        await eventually(async () => (await isGone()) === false, { what: "the second daemon's word of it" });
        const code = await findInstanceCode(site.pool);
        const started = [`${code}-a1-started`, `${code}-a2-started`];
        expect(await events()).toEqual({ hook: started, mail: started, command: started });

        site.simulator.control.setFaults([]);
        // Another worker has found it back, so that nobody waits for a next try.
        reportToOthers(site.pool, silent).reportRecovery();
        await eventually(isGone, { what: "the end of the outage" });
        await site.pool.query("update alerts set gone_since = gone_since - interval '1 hour'");
        await eventually(() => areSent(12), { what: "the news of its end at each place" });
        const both = [...started, `${code}-a1-over`];
        expect(await events()).toEqual({ hook: both, mail: both, command: both });
        expect(hook.taken[0]?.news.alert).toMatchObject({
          kind: "serviceUnreachable",
          text: expect.stringContaining("go on by themselves"),
        });
        expect(await listed(site)).toContainEqual(
          expect.objectContaining({ id: "a1", kind: "serviceUnreachable" }),
        );
        await second.stop();
      });
    }),
  ));
