import { expect, it } from "vitest";
import { SecretWatch } from "../../src/service/http/secret.ts";
import { FakeClock } from "./fake-clock.ts";

function watched(secret: string | (() => Promise<string>)) {
  const clock = new FakeClock();
  let changes = 0;
  const watch = new SecretWatch(secret, clock, () => {
    changes += 1;
  });
  return { clock, watch, changes: () => changes };
}

it("tells once that a secret has changed, and then watches no more", async () => {
  let secret = "old";
  const { clock, watch, changes } = watched(async () => secret);
  watch.start("old");
  watch.start("old");
  await clock.advance(60_000);
  expect(changes()).toBe(0);
  secret = "new\n";
  await clock.advance(5_000);
  expect(changes()).toBe(1);
  expect(clock.asleep).toBe(0);
});

it("waits for a secret that can't be read, or is empty", async () => {
  let read = async () => Promise.reject<string>(new Error("no such file"));
  const { clock, watch, changes } = watched(() => read());
  watch.start(undefined);
  await clock.advance(20_000);
  read = async () => "  \n";
  await clock.advance(20_000);
  expect(changes()).toBe(0);
  read = async () => "there";
  await clock.advance(5_000);
  expect(changes()).toBe(1);
});

it("watches no secret that can't change", () => {
  const { clock, watch } = watched("fixed");
  watch.start("fixed");
  expect(clock.asleep).toBe(0);
});

it("ends when it is closed", async () => {
  const { clock, watch, changes } = watched(async () => "new");
  watch.start("old");
  watch.close();
  await clock.advance(60_000);
  expect(changes()).toBe(0);
  expect(clock.asleep).toBe(0);
});
