/**
 * What our code relies on in every session, whatever the server, the database or the role says: how times are written and read,
 * how statements are understood, that what is committed is on disk. Asked for when a session begins, which goes before all
 * three.
 */
const RELIED_ON: Readonly<Record<string, string>> = {
  datestyle: "ISO,YMD",
  intervalstyle: "postgres",
  timezone: "UTC",
  standard_conforming_strings: "on",
  backslash_quote: "safe_encoding",
  bytea_output: "hex",
  extra_float_digits: "1",
  array_nulls: "on",
  transform_null_equals: "off",
  row_security: "on",
  quote_all_identifiers: "off",
  plan_cache_mode: "auto",
  default_transaction_isolation: "read committed",
  default_transaction_deferrable: "off",
  synchronous_commit: "on",
};

/**
 * The start-up options of a session.
 *
 * @param schema the first of its search path
 * @param more further settings, which go before those that all sessions share
 */
export function sessionOptions(schema: string, more: Readonly<Record<string, string>> = {}): string {
  const settings = { ...RELIED_ON, search_path: `${schema},public`, ...more };
  // A space within a value ends the option unless it is escaped.
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`)
    .join(" ");
}
