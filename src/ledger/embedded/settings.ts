/** What the server's configuration depends on. */
export interface ServerPlace {
  /** Unix socket folder, or undefined for loopback TCP (Windows). */
  readonly socketDir: string | undefined;
  readonly port: number;
  readonly logDir: string;
  readonly hbaFile: string;
}

/**
 * The text of `postgresql.conf`, written anew at each start, so that nobody's edits weaken it.
 *
 * Durability is spelled out although it is the default: what is committed is forgotten by whoever sent it.
 * Only messages of the server itself are logged (`log_min_messages = log` leaves out ERROR, which quotes the value
 * that a statement choked on), and never a statement or its parameters: they hold personal data.
 */
export function encodeSettings(place: ServerPlace): string {
  const settings: Readonly<Record<string, string>> = {
    listen_addresses: place.socketDir === undefined ? "127.0.0.1" : "",
    port: String(place.port),
    ...(place.socketDir === undefined
      ? {}
      : { unix_socket_directories: quoteListItem(place.socketDir), unix_socket_permissions: "0700" }),
    hba_file: place.hbaFile,
    allow_alter_system: "off",
    password_encryption: "scram-sha-256",

    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",

    max_connections: "200",
    superuser_reserved_connections: "2",
    shared_buffers: "64MB",
    work_mem: "4MB",
    maintenance_work_mem: "64MB",
    min_wal_size: "80MB",
    max_wal_size: "512MB",
    max_wal_senders: "0",
    max_logical_replication_workers: "0",
    max_worker_processes: "2",
    max_parallel_workers: "0",
    max_parallel_workers_per_gather: "0",
    io_method: "sync",
    huge_pages: "off",
    jit: "off",

    timezone: "UTC",
    log_timezone: "UTC",
    lc_messages: "C",

    // A file for each weekday, overwritten a week later.
    logging_collector: "on",
    log_directory: place.logDir,
    log_filename: "postgres-%a.log",
    log_rotation_age: "1d",
    log_rotation_size: "0",
    log_truncate_on_rotation: "on",
    log_min_messages: "log",
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    log_statement: "none",
    log_min_duration_statement: "-1",
    log_parameter_max_length: "0",
    log_parameter_max_length_on_error: "0",
    log_checkpoints: "off",
    debug_print_plan: "off",
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''").replaceAll("\\", "\\\\")}'\n`)
    .join("");
}

/** The text of `pg_hba.conf`: a password for everyone, from this machine only. */
export function encodeAccessRules(socketDir: string | undefined): string {
  return socketDir === undefined
    ? "host all all 127.0.0.1/32 scram-sha-256\n"
    : "local all all scram-sha-256\n";
}

/** Folder lists are separated by commas; a name with one must be quoted. */
function quoteListItem(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
