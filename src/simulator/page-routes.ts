import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { guard } from "./control-routes.ts";

const SCRIPT = "text/javascript; charset=utf-8";
const FILES = [
  { url: "/", file: "page.html", contentType: "text/html; charset=utf-8" },
  { url: "/simulator/page.css", file: "page.css", contentType: "text/css; charset=utf-8" },
  { url: "/simulator/page.js", file: "page.js", contentType: SCRIPT },
  { url: "/simulator/page-ask.js", file: "page-ask.js", contentType: SCRIPT },
  { url: "/simulator/page-rows.js", file: "page-rows.js", contentType: SCRIPT },
] as const;

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'";

/** The page on which a person plays staff and device. Everything it needs comes from this server. */
export function pageRoutes(app: FastifyInstance, isOpen: boolean): void {
  for (const { url, file, contentType } of FILES) {
    app.get(url, { onRequest: guard(isOpen) }, async (_request, reply) => {
      const content = await readFile(new URL(`./page/${file}`, import.meta.url));
      return reply
        .header("content-type", contentType)
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        .header("cache-control", "no-cache")
        .send(content);
    });
  }
}
