import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasZone, serviceTimeMs } from "../../src/core/service-time.ts";
import { formatServiceTimestamp } from "../../src/mapping/outbound/timestamp.ts";

const NINE = Date.parse("2026-11-22T09:00:00Z");

describe.each(["Asia/Tokyo", "America/St_Johns", "UTC"])("a time of the service, read in %s", (zone) => {
  let before: string | undefined;
  beforeEach(() => {
    before = process.env.TZ;
    process.env.TZ = zone;
  });
  afterEach(() => {
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });

  test.each([
    "2026-11-22T09:00:00Z",
    "2026-11-22T10:00:00+01:00",
    "2026-11-22T09:00:00",
    "2026-11-22T09:00",
    "2026-11-22 09:00:00.000",
    "2026-11-22 09:00:00Z",
  ])("is the same moment: %s", (text) => {
    expect(serviceTimeMs(text)).toBe(NINE);
    expect(formatServiceTimestamp(text, "Europe/Berlin")).toBe("20261122100000+0100");
  });

  test.each(["", "yesterday", "2026-11-22", "1763802000", "0001-01-01T00:00:00Z", "2026-13-45T00:00:00Z"])(
    "is none of ours: %s",
    (text) => {
      expect(serviceTimeMs(text)).toBeUndefined();
    },
  );
});

test("tells its zone as Z or as an offset", () => {
  const told = ["2026-11-22T09:00:00Z", "2026-11-22 09:00+0100", "2026-11-22T09:00:00.5-05:00"];
  expect([...told, "2026-11-22T09:00:00", "2026-11-22"].map(hasZone)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
