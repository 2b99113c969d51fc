import { readFileSync } from "node:fs";

/** The version in `package.json`, which stands two folders above this file in a checkout and in a build alike. */
export const VERSION: string = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version;
