import { readFile, writeFile } from "node:fs/promises";
import type pg from "pg";
import { createActs } from "../../../src/app/acts/create-acts.ts";
import { withService } from "../../../src/cli/open.ts";
import { loadConfig } from "../../../src/config/load.ts";
import type { ConsoleDeps, ConsoleUser } from "../../../src/console/deps.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { profileSchema } from "../../../src/mapping/profile/schema.ts";
import { ENV, type Lab, withLab } from "../../cli/with-lab.ts";
import { silent } from "../../support/with-ledger.ts";
import { withConsole } from "../console-fixture.ts";

export const USERS: readonly ConsoleUser[] = [
  { name: "erika", token: "token-of-erika", role: "operator" },
  { name: "vera", token: "token-of-vera", role: "viewer" },
];

const PARTS = { clock: systemClock, logger: silent };

/** A browser without script that has signed in. */
export interface Browser {
  /** The text of a page, whatever its status. */
  open(path: string): Promise<string>;
  /** Sends a form with the token of the page last opened, or with another; gives the page that it leads to. */
  send(path: string, fields?: Readonly<Record<string, string>>, formToken?: string): Promise<string>;
  /** The address that the last page came from. */
  at(): string;
  readonly cookie: string;
}

/** What a test of pages has. */
export interface Pages {
  readonly lab: Lab;
  readonly pool: pg.Pool;
  /** Where the console is, for a real browser. */
  readonly url: string;
  /** Somebody who may act. */
  readonly operator: Browser;
  /** Somebody who may look. */
  readonly viewer: Browser;
}

/** A console on a ledger of its own, with the command line's lab, for the time of the test. */
export function withPages(
  test: (pages: Pages) => Promise<void>,
  {
    config: more,
    deps,
    host = "127.0.0.1",
    adapt = (text) => text,
    pool: way,
  }: {
    readonly config?: string;
    readonly deps?: Partial<ConsoleDeps>;
    readonly host?: string;
    /** Changes the text of the configuration. */
    readonly adapt?: (text: string) => string;
    /** By which the pages ask a ledger; the lab's own unless given. */
    readonly pool?: pg.Pool;
  } = {},
): Promise<void> {
  return withLab(async (lab) => {
    const { pool, configFile } = lab;
    await writeFile(configFile, adapt(await readFile(configFile, "utf8")));
    const config = loadConfig(configFile, { env: ENV, profileSchema });
    const acts = createActs({
      ...{ pool, config, withService: (work) => withService(PARTS, config, work) },
      alertParts: { version: "1.2.3", logger: silent, clock: systemClock, path: undefined },
    });
    const records = { pool: way ?? pool, config, acts, queues: undefined };
    await withConsole({ settings: { host, users: USERS }, deps: { records, ...deps } }, async ({ url }) => {
      const [operator, viewer] = await Promise.all(USERS.map(({ token }) => signIn(url, token)));
      if (operator && viewer) await test({ lab, pool, url, operator, viewer });
    });
  }, more);
}

async function signIn(url: string, token: string): Promise<Browser> {
  const signedIn = await fetch(`${url}/login`, {
    method: "POST",
    body: new URLSearchParams({ token }),
    redirect: "manual",
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  let lastToken = "";
  let lastPath = "";
  const open = async (path: string) => {
    lastPath = path;
    const text = await (await fetch(url + path, { headers: { cookie } })).text();
    lastToken = /name="formToken" value="([^"]+)"/.exec(text)?.[1] ?? lastToken;
    return text;
  };
  return {
    open,
    at: () => lastPath,
    cookie,
    send: async (path, fields = {}, formToken = lastToken) => {
      const answer = await fetch(url + path, {
        method: "POST",
        headers: { cookie, origin: url },
        body: new URLSearchParams({ ...fields, formToken }),
        redirect: "manual",
      });
      const to = answer.headers.get("location");
      return to === null ? answer.text() : open(to);
    },
  };
}

/** What a person reads of a page's content and notice: without markup, with single blanks. */
export function wordsOf(page: string): string {
  const content = page.slice(page.indexOf("</header>"), page.indexOf("</main>"));
  return content
    .replaceAll("<wbr>", "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, " ");
}
