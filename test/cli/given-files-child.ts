import { runCli } from "./run-cli.ts";

/** Runs each command line that is given, in the current folder, and says in a line of JSON how it ended. */
for (const given of process.argv.slice(2)) {
  const { argv, env } = JSON.parse(given) as { argv: string[]; env: Record<string, string> };
  const { status, stdout, stderr } = await runCli(argv, { env });
  console.log(JSON.stringify({ status, text: stderr + stdout }));
}
