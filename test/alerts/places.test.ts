import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer as createServerOfTls } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { emailPlace } from "../../src/alerts/places/email.ts";
import { type AlertPlace, commandPlace, webhookPlace } from "../../src/alerts/places/place.ts";
import { postThrough } from "../../src/app/alert-places.ts";
import { Secret } from "../../src/config/secret.ts";
import type { AlertNews } from "../../src/core/alert.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { ProxySettings } from "../../src/service/http/proxy.ts";
import { withCertificates } from "../connectors/mllp/with-certificates.ts";
import { never } from "../service/with-client.ts";
import { withFolder } from "../support/with-folder.ts";
import { withProxy } from "../support/with-proxy.ts";
import { withMailServer, withReceiver } from "./receivers.ts";

const NEWS: AlertNews = {
  ...{ id: "7K3MZQ-a12-started", event: "started", host: "lab-server", version: "1.2.3" },
  alert: {
    ...{
      id: "a12",
      kind: "tankOverdue",
      about: "NORTH T1",
      level: "act",
      text: "tank T1 of NORTH was not refilled for too long",
    },
    ...{ hint: "Call the facility.", since: "2026-11-22T08:00:00.000Z", overAt: null },
  },
};
const OVER: AlertNews = {
  ...{ ...NEWS, id: "7K3MZQ-a12-over", event: "over" },
  alert: { ...NEWS.alert, overAt: "2026-11-22T09:00:00.000Z" },
};
const KEY = "invented-key-of-the-hook";

const hookAt = (url: string, secret = KEY, proxy?: ProxySettings) =>
  webhookPlace(
    { name: "hook", url: new Secret(url), secret: new Secret(secret) },
    systemClock,
    postThrough(proxy),
  );

describe("a webhook", () => {
  it("is sent the news as JSON, with their id and a signature that its receiver can check", () =>
    withReceiver(KEY, async (receiver) => {
      await hookAt(receiver.url).send(NEWS, never);
      await hookAt(receiver.url, "another-key-altogether").send(NEWS, never);
      expect(receiver.taken.map(({ news }) => news)).toEqual([NEWS]);
      expect(receiver.taken[0]?.headers["cryobridge-id"]).toBe("7K3MZQ-a12-started");
      expect(receiver.forged).toHaveLength(1);
    }));

  it("that answers with an error or a redirect has not taken them, and no redirect is followed", () =>
    withReceiver(KEY, async (receiver) =>
      withReceiver(KEY, async (elsewhere) => {
        receiver.answer = { status: 500 };
        await expect(hookAt(receiver.url).send(NEWS, never)).rejects.toThrow("answered with status 500");
        receiver.answer = { status: 307, location: elsewhere.url };
        await expect(hookAt(receiver.url).send(NEWS, never)).rejects.toThrow("answered with status 307");
        expect(elsewhere.taken).toEqual([]);
      }),
    ));

  it("is reached through the proxy where there is one, which alone is named when it lets nobody through", () =>
    withReceiver(KEY, (receiver) =>
      withProxy(async (proxy) => {
        const place = hookAt(receiver.url, KEY, { url: proxy.url, except: { includes: () => false } });
        await place.send(NEWS, never);
        expect(receiver.taken).toHaveLength(1);
        expect(proxy.asked.map(({ target }) => target)).toEqual([new URL(receiver.url).host]);
        proxy.does = 407;
        await expect(place.send(NEWS, never)).rejects.toThrow(`the proxy ${proxy.url.host} refuses the user`);
      }),
    ));

  it("has taken them once it says so, also when its answer never ends or its headers come twice", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined).resume();
      socket.write(
        "HTTP/1.1 202 Accepted\r\nDate: x\r\nDate: y\r\nContent-Type: a\r\nContent-Type: b\r\n\r\nmore …",
      );
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    await hookAt(`http://127.0.0.1:${port}/`).send(NEWS, never);
    await new Promise((resolve) => server.close(resolve));
  });

  it("is sent nothing where its certificate is not trusted, which its own setting of authorities ends", () =>
    withCertificates(async ({ ca, server: { cert, key } }) => {
      let taken = 0;
      const server = createServerOfTls({ cert, key }, (_, response) => {
        taken += 1;
        response.end();
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const url = new Secret(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      const place = (trusted?: string) =>
        webhookPlace(
          { name: "hook", url, secret: new Secret(KEY) },
          systemClock,
          postThrough(undefined, trusted),
        );
      await expect(place().send(NEWS, never)).rejects.toThrow(/not trusted: its `ca` has to name a PEM file/);
      expect(taken).toBe(0);
      await place(ca.toString()).send(NEWS, never);
      expect(taken).toBe(1);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }));

  it("is sent the user and password that its address has", () =>
    withReceiver(KEY, async (receiver) => {
      await hookAt(receiver.url.replace("//", "//bridge:50%25@")).send(NEWS, never);
      const authorization = `Basic ${Buffer.from("bridge:50%").toString("base64")}`;
      expect(receiver.taken[0]?.headers).toMatchObject({ authorization });
    }));

  it("that can't be reached is named by its host alone, since its address may hold a credential", async () => {
    const failure = await hookAt("http://127.0.0.1:9/hidden-token")
      .send(NEWS, never)
      .catch((error: Error) => error);
    expect(String(failure)).toMatch(/^Error: 127\.0\.0\.1:9 can't be reached: /);
    expect(String(failure)).not.toContain("hidden-token");
  });
});

describe("e-mail", () => {
  const settings = { name: "email", host: "127.0.0.1", from: "cryobridge@lab.example" } as const;
  const to = ["first@lab.example", "second@lab.example"];

  it("says in its subject and text what is wrong, what to do, and where the console is", () =>
    withMailServer(async ({ port, mails }) => {
      const place = emailPlace({
        ...settings,
        port,
        to,
        tls: "none",
        consoleUrl: "https://cryo.lab.example",
      });
      await place.send(NEWS, never);
      await place.send(OVER, never);
      expect(mails).toHaveLength(2);
      expect(mails[0]).toContain("Message-ID: <7K3MZQ-a12-started@lab.example>");
      expect(mails[0]).toContain("To: first@lab.example, second@lab.example");
      const [started, over] = mails.map((mail) => mail.replace(/=\r\n|\r\n(?=[ \t])/g, ""));
      expect(started).toContain("Subject: [Cryobridge lab-server] Alert: tankOverdue: tank T1 of NORTH");
      expect(started).toContain("Call the facility.");
      expect(started).toContain("cryobridge alerts acknowledge a12");
      expect(started).toContain("https://cryo.lab.example/alerts/a12");
      expect(over).toContain("Subject: [Cryobridge lab-server] Over: tankOverdue");
      expect(over).toContain("Over since 2026-11-22 09:00 UTC");
    }));

  it("goes by TLS with user and password, and not to a server whose certificate nobody vouches for", () =>
    withMailServer(
      async ({ port, mails }) => {
        const own = {
          ...settings,
          port,
          to,
          tls: "starttls",
          user: "bridge",
          password: new Secret("pw-1"),
        } as const;
        await expect(emailPlace(own).send(NEWS, never)).rejects.toThrow(
          /did not take the message: its certificate has expired: have its operator renew it/,
        );
        expect(mails).toEqual([]);
      },
      {
        authOptional: false,
        onAuth: ({ username, password }, _, done) =>
          username === "bridge" && password === "pw-1"
            ? done(null, { user: "bridge" })
            : done(new Error("no")),
      },
    ));

  it.each(["starttls", "tls"] as const)("is taken by a server with a good certificate, by %s", (tls) =>
    withCertificates(({ ca, server: { cert, key } }) =>
      withMailServer(
        async ({ port, mails }) => {
          const own = { ...settings, port, to, tls, user: "bridge", password: new Secret("pw-1") } as const;
          await expect(emailPlace(own).send(NEWS, never)).rejects.toThrow(
            /its certificate .*not trusted: its `ca` has to name/,
          );
          await emailPlace({ ...own, ca: ca.toString() }).send(NEWS, never);
          expect(mails).toHaveLength(1);
          expect(mails[0]).toContain("Message-ID: <7K3MZQ-a12-started@lab.example>");
        },
        {
          ...{ secure: tls === "tls", cert, key, authOptional: false },
          // Only what came by TLS may sign in.
          onAuth: ({ username, password }, { secure }, done) =>
            secure && username === "bridge" && password === "pw-1"
              ? done(null, { user: "bridge" })
              : done(new Error("no")),
        },
      ),
    ),
  );

  it("is not sent in clear to a server without TLS where TLS is asked for", () =>
    withMailServer(
      async ({ port, mails }) => {
        const place = emailPlace({ ...settings, port, to, tls: "starttls" });
        await expect(place.send(NEWS, never)).rejects.toThrow("did not take the message: ");
        expect(mails).toEqual([]);
      },
      { disabledCommands: ["STARTTLS"] },
    ));

  it("that is refused names the server and its answer, and no password", () =>
    withMailServer(
      async ({ port }) => {
        const password = new Secret("wrong-password");
        const place = emailPlace({ ...settings, port, to, tls: "none", user: "bridge", password });
        const failure = await place.send(NEWS, never).catch((error: Error) => error);
        expect(String(failure)).toContain(`127.0.0.1:${port} did not take the message: status 535`);
        expect(String(failure)).not.toContain("wrong-password");
      },
      {
        authOptional: false,
        allowInsecureAuth: true,
        onAuth: (_, __, done) => done(Object.assign(new Error("no"), { responseCode: 535 })),
      },
    ));
});

test("a command gets the news on its standard input and nothing of the environment but PATH, and ends with 0 when it took them", () =>
  withFolder(async (folder) => {
    const script = join(folder, "take.mjs");
    await writeFile(
      script,
      `import { writeFileSync } from "node:fs";
       let text = "";
       for await (const chunk of process.stdin) text += chunk;
       writeFileSync(process.argv[2], JSON.stringify({ news: JSON.parse(text), env: Object.keys(process.env) }));
       process.exit(process.argv[3] === undefined ? 0 : 7);`,
    );
    const place = (...more: string[]) =>
      commandPlace({
        name: "command",
        command: [process.execPath, script, join(folder, "$(id) out"), ...more],
        path: "/usr/bin",
      });
    await place().send(NEWS, never);
    const got = JSON.parse(await readFile(join(folder, "$(id) out"), "utf8"));
    expect(got).toEqual({ news: NEWS, env: ["PATH"] });
    await expect(place("fail").send(NEWS, never)).rejects.toThrow("ended with status 7");
    const missing = commandPlace({ name: "command", command: [join(folder, "missing")], path: undefined });
    await expect(missing.send(NEWS, never)).rejects.toThrow("can't be run: ENOENT");
  }));

/** A server that takes connections and says nothing. */
async function withSilentServer<T>(body: (port: number) => Promise<T>): Promise<T> {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await body((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

const places: Readonly<Record<string, (port: number) => AlertPlace>> = {
  webhook: (port) => hookAt(`http://127.0.0.1:${port}/`),
  "e-mail": (port) =>
    emailPlace({
      ...{ name: "email", host: "127.0.0.1", port, tls: "none" },
      ...{ from: "a@lab.example", to: ["b@lab.example"] },
    }),
  command: () =>
    commandPlace({
      name: "command",
      command: [process.execPath, "-e", "setInterval(() => {}, 1000)"],
      path: undefined,
    }),
};

test.each(Object.keys(places))("a sending by %s ends with its signal, and says why", (name) =>
  withSilentServer(async (port) => {
    const place = places[name]?.(port) as AlertPlace;
    await expect(place.send(NEWS, AbortSignal.timeout(50))).rejects.toThrow("no answer within 10 s");
    const stopping = new AbortController();
    const sending = place.send(NEWS, stopping.signal);
    stopping.abort();
    await expect(sending).rejects.toThrow("the daemon stops");
  }),
);
