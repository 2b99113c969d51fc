import { expect, test } from "vitest";
import { serviceCondition } from "../../src/app/service.ts";

const opening = {
  since: new Date("2026-11-22T10:24:40Z"),
  nextTryAt: new Date("2026-11-22T10:31:07Z"),
};
const BEFORE = Date.parse("2026-11-22T10:31:00Z");

test.each([
  ["SERVICE_UNREACHABLE", "the storage service is out of reach since 2026-11-22 10:24 UTC"],
  ["SERVICE_CREDENTIALS_REFUSED", "the credentials are refused since 2026-11-22 10:24 UTC"],
  ["SERVICE_TOKEN_UNAVAILABLE", "the token endpoint issues no token since 2026-11-22 10:24 UTC"],
] as const)("%s says when the service is tried next", (code, beginning) => {
  const { text: words } = serviceCondition({ ...opening, cause: { code, text: "no connection" } }, BEFORE);
  expect(words).toContain(beginning);
  expect(words).toContain("orders");
  expect(words).toContain("; next try at 10:31:07 UTC. Last ");
});

test("once its time has come, the next try is due", () => {
  const { text: words } = serviceCondition(
    { ...opening, cause: { code: "SERVICE_UNREACHABLE", text: "no connection" } },
    opening.nextTryAt.getTime(),
  );
  expect(words).toContain("; the next try is due now. Last try: no connection");
});

test.each([
  ["SERVICE_UNREACHABLE", 14, "wait"],
  ["SERVICE_TOKEN_UNAVAILABLE", 14, "wait"],
  ["SERVICE_UNREACHABLE", 15, "act"],
  ["SERVICE_CREDENTIALS_REFUSED", 0, "act"],
] as const)("%s for %i minutes needs a person unless it most likely passes: %s", (code, minutes, level) => {
  const now = opening.since.getTime() + minutes * 60_000;
  expect(serviceCondition({ ...opening, cause: { code, text: "no connection" } }, now).level).toBe(level);
});
