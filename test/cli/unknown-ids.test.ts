import { describe, expect, it, test } from "vitest";
import { createCommands } from "../../src/cli/commands.ts";
import { SecretMask } from "../../src/core/secret-mask.ts";
import { csvMessage, withLab } from "./with-lab.ts";
import { withService } from "./with-service.ts";

const NO_IO = { stdout: { write: () => {} }, stderr: { write: () => {} }, env: {}, isTTY: false };

/** What each command that takes an id is asked about, beside things that are there. */
const IN_LEDGER: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "orders show": [["o99"], ["P-99"]],
  "orders retry": [["o99"], ["P-99"]],
  "orders discard": [["o99"], ["P-99"]],
  "orders release": [["o99"], ["P-99"]],
  "orders resolve": [["o99", "--request-id", "7"]],
  "orders cancel": [["o99", "--reason", "why"]],
  "messages show": [["m99"]],
  "messages replay": [["m99"]],
  "messages discard": [["m99", "--reason", "why"]],
  "files show": [["f99"]],
  "queue show": [["o99"], ["d99"], ["submit-b99"]],
  "queue retry": [["d99"]],
  "queue remove": [["d99"]],
  "results show": [["d99"]],
  "results resend": [["d99"]],
  "tasks done": [["k99"]],
  "alerts acknowledge": [["a99", "--reason", "why"]],
  "alerts unsilence": [["s99"]],
};
const AT_SERVICE = [
  "service subject",
  "service request",
  "service procedure",
  "service location",
  "service inventory",
];

const lines = Object.entries(IN_LEDGER).flatMap(([name, each]) =>
  each.map((words) => [name, ...words].join(" ")),
);

describe("an id that nobody knows", () => {
  it("is tried with every command that takes one", async () => {
    const commands = await createCommands({ io: NO_IO, secrets: new SecretMask(), exitStatus: 0 });
    const known = commands.flatMap((command) => {
      return command.commands
        .filter((child) => child.registeredArguments.some((argument) => argument.name() === "id"))
        .map((child) => `${command.name()} ${child.name()}`);
    });
    expect([...Object.keys(IN_LEDGER), ...AT_SERVICE].sort()).toEqual(known.sort());
  });

  it("ends each of those that ask the ledger with status 5, in words and in JSON, and nothing is done", async () => {
    await withLab(async ({ cli, pool }) => {
      const said = [];
      for (const line of lines) {
        const { status, stdout, stderr } = await cli(line.split(" "));
        expect(stderr).toMatch(
          /\n {2}`cryobridge (orders|messages|files|results|queue|tasks|alerts) \w+` shows what there is(; .* not be an order yet)?\.\n$/,
        );
        const inJson = await cli([...line.split(" "), "--json"]);
        const what =
          /^error: no (order|message|file|delivery|result|task|alert|silence)\b/.test(stderr) &&
          stdout === "";
        said.push([line, what, status, inJson.status, JSON.parse(inJson.stdout).error.code]);
      }
      expect(said).toEqual(lines.map((line) => [line, true, 5, 5, "CLI_NOT_FOUND"]));
      expect((await pool.query("select from audit")).rowCount).toBe(0);
    });
  });

  test.each(["messages show 99", "queue retry m99", "tasks done o99", "alerts acknowledge --reason why d99"])(
    "is wrong usage in %s",
    (line) =>
      withLab(async ({ cli }) => {
        const { status, stderr } = await cli(line.split(" "));
        expect(status).toBe(2);
        expect(stderr).toMatch(
          /99: expected the id of (a message|a result|a task|an alert), such as [mdka]12/,
        );
      }),
  );

  test.each([
    ["orders resolve o99", "with --request-id N"],
    ["queue retry d99 o5", "o5 is an order: cryobridge orders retry o5"],
    ["queue remove d99 o5", "o5 is an order: cryobridge orders discard o5"],
    ["messages replay m99 d5", "d5: expected the id of a message"],
  ])("comes after what is wrong usage whatever the ledger has: %s", (line, why) =>
    withLab(async ({ cli }) => {
      const { status, stderr } = await cli(line.split(" "));
      expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining(why) });
    }),
  );

  test.each(AT_SERVICE)("ends %s with status 5", (line) =>
    withService({}, async ({ cli }) => {
      const said = await cli([...line.split(" "), "999", "--json"]);
      expect(said.status).toBe(5);
      expect(JSON.parse(said.stdout).error).toMatchObject({ code: "SERVICE_NOT_FOUND" });
    }),
  );

  it("keeps tasks done from closing the others that were named", async () => {
    await withLab(async ({ cli, pool, take }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query("insert into tasks (order_id, kind, text) values (1, 'cancel', 'ring the ward')");
      expect((await cli(["tasks", "done", "k1", "k99"])).status).toBe(5);
      expect((await cli(["tasks"])).stdout).toContain("ring the ward");
      expect((await cli(["tasks", "done", "k1"])).stdout).toBe("✓ k1 is done\n");
      expect(await cli(["tasks", "done", "k1"])).toMatchObject({
        status: 1,
        stdout: "✗ k1 was done before\n",
      });
    });
  });
});
