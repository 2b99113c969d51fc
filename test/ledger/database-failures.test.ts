import { expect, test } from "vitest";
import { toFailure } from "../../src/cli/output/failure.ts";
import { openPool } from "../../src/ledger/database.ts";
import { asLedgerFailure, asRefusal } from "../../src/ledger/database-failures.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { findPort } from "../support/find-port.ts";
import { withDatabase } from "../support/with-database.ts";
import { silent } from "../support/with-ledger.ts";

/** What an operator is told of a database under this URL. */
async function told(url: string): Promise<string> {
  const settings = {
    connection: { connectionString: url },
    schema: "cryobridge",
    max: 1,
    applicationName: "test",
  };
  const pool = openPool(settings, silent);
  try {
    await migrateLedger(pool);
    return "fit";
  } catch (error) {
    const { code, message } = toFailure(error);
    return `${code}: ${message}`;
  } finally {
    await pool.end();
  }
}

test("a database that isn't there is told apart from one that refuses, with what is wrong", () =>
  withDatabase(async ({ url }) => {
    const other = new URL(url);
    other.pathname = "/no_such_database";
    expect(await told(String(other))).toBe(
      "LEDGER_REFUSED: the database answers, but has no database of that name (SQLSTATE 3D000)",
    );
    const stranger = new URL(url);
    stranger.password = "wrong";
    expect(await told(String(stranger))).toBe(
      "LEDGER_REFUSED: the database answers, but refuses the user or the password (SQLSTATE 28P01)",
    );
    const place = `127.0.0.1:${await findPort()}`;
    expect(await told(`postgres://u:p@${place}/x`)).toBe(
      `LEDGER_UNAVAILABLE: the ledger's database at ${place} can't be reached: nothing listens at its address`,
    );
    expect(await told("postgres://u:p@/x?host=/nowhere")).toBe(
      "LEDGER_UNAVAILABLE: the ledger's database at /nowhere can't be reached: its socket isn't there: the server doesn't run",
    );
  }));

test("a database in another encoding than UTF-8 is refused before anything is made in it", () =>
  withDatabase(async ({ pool, url }) => {
    const name = new URL(url).pathname.slice(1);
    const latin = `${name}_latin`;
    await pool.query(
      `create database ${latin} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`,
    );
    try {
      const other = new URL(url);
      other.pathname = `/${latin}`;
      expect(await told(String(other))).toBe(
        "LEDGER_SERVER_UNFIT: the database's encoding is LATIN1; expected UTF8",
      );
    } finally {
      await pool.query(`drop database ${latin} with (force)`);
    }
  }));

test("a full disk is told as one", () => {
  const error = Object.assign(new Error("could not extend file"), { code: "53100" });
  expect(asLedgerFailure(error)).toMatchObject({
    code: "LEDGER_UNAVAILABLE",
    message: "the ledger's database can't be written: its disk is full",
  });
});

test.each([
  [
    "The server does not support SSL connections",
    undefined,
    "speaks no TLS, which sslmode asks for",
    "sslmode",
  ],
  ["self-signed certificate", "DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed and not trusted", "`sslrootcert`"],
  ["Hostname/IP does not match", "ERR_TLS_CERT_ALTNAME_INVALID", "another name", "`database.url`"],
  ["connection requires a valid client certificate", "28000", "asks for a certificate of ours", "`sslcert`"],
  [
    "permission denied for database x",
    "42501",
    "does not let that user make or use the schema cryobridge",
    "OWNER TO",
  ],
])("%s is a refusal that an operator can fix, in words of ours", (text, code, words, setting) => {
  const failure = toFailure(Object.assign(new Error(text), code === undefined ? {} : { code }));
  expect(failure.code).toBe("LEDGER_REFUSED");
  expect(failure.message).toContain(words);
  expect(failure.message).not.toContain(text);
  expect(failure.hint).toContain(setting);
  expect(asRefusal(failure.cause, "db:5432")?.message).toMatch(/^the database at db:5432 answers, but /);
});
