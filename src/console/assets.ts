import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { FastifyInstance } from "fastify";

const require = createRequire(import.meta.url);

const FILES = {
  "pico.css": [require.resolve("@picocss/pico/css/pico.min.css"), "text/css; charset=utf-8"],
  "console.css": [new URL("./assets/console.css", import.meta.url), "text/css; charset=utf-8"],
  "htmx.js": [require.resolve("htmx.org/dist/htmx.min.js"), "text/javascript; charset=utf-8"],
  "console.js": [new URL("./assets/console.js", import.meta.url), "text/javascript; charset=utf-8"],
} as const satisfies Record<string, readonly [file: string | URL, type: string]>;

const CONTENTS = new Map(
  Object.entries(FILES).map(([name, [file, type]]) => [name, { type, bytes: readFileSync(file) }]),
);

const DIGEST = createHash("sha256")
  .update(Buffer.concat([...CONTENTS.values()].map(({ bytes }) => bytes)))
  .digest("hex")
  .slice(0, 12);

/** Where a page finds one of the console's files; another one after each change, so that browsers may keep it for long. */
export function assetPath(name: keyof typeof FILES): string {
  return `/assets/${name}?v=${DIGEST}`;
}

/** Serves style and script, which are a part of the package: nothing comes from elsewhere, hospitals being closed. */
export function addAssets(app: FastifyInstance): void {
  for (const [name, { type, bytes }] of CONTENTS) {
    app.get(`/assets/${name}`, (_request, reply) =>
      reply.type(type).header("cache-control", "public, max-age=31536000, immutable").send(bytes),
    );
  }
}
