import { type Command, InvalidArgumentError, Option } from "commander";
import { MLLP_ADDRESS } from "../../config/connector-schema.ts";
import { Failure, shownProblem } from "../../core/failures.ts";
import { counted, countsInWords, problemLines } from "../../operator/text.ts";
import { wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { diffHl7 } from "./hl7/diff.ts";
import { listenHl7 } from "./hl7/listen.ts";
import { sendHl7 } from "./hl7/send.ts";
import { showHl7 } from "./hl7/show.ts";

/** `cryobridge hl7`: what an engineer keeps open while an interface is set up. */
export function define(hl7: Command, cli: Cli): void {
  hl7
    .command("show")
    .description("Show a file's messages as a tree with the names of segments and fields.")
    .argument("<file>", "an HL7 file; - for standard input")
    .option("--charset <name>", "read it in this character set, whatever MSH-18 says")
    .option("--segment <name>", "show only segments of this name")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge hl7 show order.hl7 --segment SPM --show-phi\n\nStatus 1 when a message can't be read, 5 when none has the segment.",
    )
    .action(toAction(cli, showHl7));
  hl7
    .command("validate")
    .description("Say what a connector would refuse in a file, message by message. Stores nothing.")
    .argument("<file>", "an HL7 file; - for standard input")
    .requiredOption("--connector <name>", "judge it as this connector would")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge hl7 validate orders.hl7 --connector lims\n\nStatus 1 when anything would be refused, or the file can't be read; with --json the one has problems, the other an error.",
    )
    .action(toAction(cli, validateHl7));
  hl7
    .command("diff")
    .description("Say in which segments and values two messages differ, by place.")
    .argument("<a>", "an HL7 file with one message, or as many as the other; - for standard input")
    .argument("<b>", "the file it is compared with; - for standard input")
    .option("--charset <name>", "read both in this character set, whatever MSH-18 says")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge hl7 diff before.hl7 after.hl7\n\nStatus 0 when they are the same, 1 when they differ, 2 when they could not be compared, as diff has it.",
    )
    .action(toAction(cli, diffHl7, EXIT.notCompared));
  hl7
    .command("send")
    .description("Send a file's messages by MLLP, one after the other, and print each acknowledgement.")
    .argument("<file>", "an HL7 file; - for standard input")
    .requiredOption("--to <host:port>", "where to", hostAndPort)
    .option(
      "--accept-only",
      "wait for the accept acknowledgement (CA) alone, where the application acknowledgement goes another way",
    )
    .option("--tls", "speak TLS")
    .option("--ca <file>", "certificates (PEM) to trust instead of the public ones; implies --tls")
    .option("--cert <file>", "certificate (PEM) to show, with --key; implies --tls")
    .option("--key <file>", "key (PEM) of --cert")
    .option(
      "--timeout <seconds>",
      "how long to wait for the connection (10 at most) and for each acknowledgement",
      wholeNumber(1, 3_600),
      30,
    )
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge hl7 send order.hl7 --to 127.0.0.1:2575\n\nA batch (FHS, BHS) is taken apart, and its messages are sent one by one. The bytes go out as they are in the file, in whatever character set, and so do broken messages;\nlines end with CR. Ctrl+C stops it; it then says how far it came.\n\nStatus 1 when one was not accepted (AA or CA) or not sent, 4 when nothing was acknowledged.",
    )
    .action(toAction(cli, sendHl7));
  hl7
    .command("listen")
    .description(
      "Receive messages by MLLP, print and acknowledge each; a batch is answered by one batch. For trying out a sender; keeps nothing.",
    )
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option(
      "--port <n>",
      "port to listen on; 0 takes any free one",
      wholeNumber(0, 65_535),
      MLLP_ADDRESS.port,
    )
    .addOption(
      new Option("--answer <code>", "what to answer where the sender wants an answer")
        .choices(["AA", "AE", "AR"])
        .default("AA"),
    )
    .option("--tls", "speak TLS, with --cert and --key")
    .option("--cert <file>", "certificate (PEM) to show, with --key; implies --tls")
    .option("--key <file>", "key (PEM) of --cert")
    .option("--ca <file>", "authorities (PEM) that senders must show a certificate of; implies --tls")
    .option("--save <folder>", "write each message, or batch, to a file in this folder")
    .option("--count <n>", "end after this many messages", wholeNumber(1))
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge hl7 listen --port 2576 --save received\n  cryobridge hl7 listen --port 2576 --cert cert.pem --key key.pem\n\nA batch (FHS, BHS) is answered as the daemon answers it: one frame with a batch that holds the answer to each\nmessage, in their order, since a sender waits for one frame for each of its own. Several messages in a frame\nwithout batch headers are answered by a frame each.",
    )
    .action(toAction(cli, listenHl7));
}

function hostAndPort(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new InvalidArgumentError("Expected HOST:PORT, such as 127.0.0.1:2575 or [::1]:2575.");
}

/** Status 1 when anything would be refused. */
async function validateHl7(
  session: Session,
  path: string,
  { connector }: { readonly connector: string },
): Promise<ExitStatus | undefined> {
  if (
    readConfig(session, "mapping").connectors.some(
      ({ name, type }) => name === connector && type === "csv-drop",
    )
  ) {
    const message = `--connector ${connector}: it reads CSV, not HL7`;
    const hint = `\`cryobridge preview ${path} --connector ${connector}\` reads CSV files.`;
    throw new Failure("CLI_USAGE", { message, hint });
  }
  // Mapping takes more code than the other commands of the family need.
  const { readPreview } = await import("./preview/read.ts");
  const all = { connector, limit: Number.MAX_SAFE_INTEGER };
  const { problems, messages, counts } = await readPreview(path, all, session);
  const found = [...problems, ...messages.flatMap((message) => message.problems)];
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const words = countsInWords(counts, "");
  const shown = found.map(shownProblem);
  session.result({ counts, problems: shown }, [
    ...problemLines(shown),
    `${counted(total, "message")}${words === "" ? "" : `: ${words}`}`,
  ]);
  return found.length > 0 ? EXIT.failed : undefined;
}
