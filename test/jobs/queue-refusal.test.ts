import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { refusalOf } from "../../src/jobs/queue-refusal.ts";

function reply(message: string): Error {
  return Object.assign(new Error(message), { name: "ReplyError" });
}

describe("what the queue's server refused", () => {
  test.each([
    ["MISCONF Errors writing to the AOF file: No space left on device", "MISCONF: it can't save"],
    [
      "ERR Error running script (call to f_45e8): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
      "READONLY: it is a replica",
    ],
    ["NOREPLICAS Not enough good replicas to write.", "NOREPLICAS: too few replicas"],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "MASTERDOWN: its"],
    ["BUSY Redis is busy running a script.", "BUSY: a script"],
    ["NOPERM User q has no permissions to run the 'eval' command", "NOPERM: its access list"],
    [
      "ERR The user executing the script can't run this command or subcommand script: 8fc1, on @user_script:9.",
      "ERR: its access list",
    ],
    ["ERR max number of clients reached", "ERR: it has no connection left"],
    ["ERR DB index is out of range", "ERR: it has no such database number"],
    ["-DENIED Redis is running in protected mode", "DENIED: it takes no connections"],
    ["QUOTAEXCEEDED daily request limit of 10000 exceeded", "QUOTAEXCEEDED: it refuses a command"],
  ])("is told by the word of the reply: %s", (message, why) => {
    const refusal = refusalOf(reply(message));
    expect(refusal?.why).toContain(why);
    expect(refusal?.hint).not.toBe("");
  });

  test("is told where the library wraps the reply", () => {
    const lost = new Error(
      "Command queue state error. If you can reproduce this, please report it. Last error: ReplyError: ERR max number of clients reached",
    );
    expect(refusalOf(lost)?.why).toContain("ERR: it has no connection left");
    const all = new Error(
      "All sentinels are unreachable. Retrying from scratch after 10ms. Last error: NOAUTH x",
    );
    expect(refusalOf(all)?.why).toContain("NOAUTH: it asks for a password");
    const cluster = Object.assign(new Error("Failed to refresh slots cache."), {
      lastNodeError: reply("WRONGPASS invalid username-password pair"),
    });
    expect(refusalOf(cluster)?.why).toContain("WRONGPASS: it refuses the user or the password");
  });

  test.each([
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "not trusted", "`queue.ca`"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "another name", "`queue.url`"],
    ["CERT_HAS_EXPIRED", "has expired", "renew it"],
  ])("names the setting of a certificate that is refused: %s", (code, why, setting) => {
    const refusal = refusalOf(Object.assign(new Error("x"), { code }));
    expect(refusal?.why).toContain(why);
    expect(refusal?.hint).toContain(setting);
  });

  test.each([
    ["42501", "schema bullmq"],
    ["53100", "its disk is full"],
    ["53300", "no connection left"],
    ["25006", "read-only"],
    ["28P01", "refuses the user or the password"],
  ])("is told by the code of PostgreSQL: %s", (code, why) => {
    expect(refusalOf(Object.assign(new Error("x"), { code }))?.why).toContain(why);
  });

  test.each([
    reply("NOSCRIPT No matching script. Please use EVAL."),
    reply("MOVED 3999 127.0.0.1:6381"),
    reply("UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)"),
    Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
    new Error("Connection is closed."),
  ])("is nothing where the library goes on by itself, or the server is away: %s", (error) => {
    expect(refusalOf(error)).toBeUndefined();
  });

  test("keeps nothing of the server's text but the word", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Z]{3,12}$/), fc.stringMatching(/^[a-z]{12,30}$/), (word, rest) => {
        const { why = "", hint = "" } = refusalOf(reply(`${word} ${rest}`)) ?? {};
        expect(`${why} ${hint}`).not.toContain(rest);
      }),
    );
  });
});
