import { type Command, Option } from "commander";
import { MLLP_ADDRESS } from "../../config/connector-schema.ts";
import { hostAndPort, wholeNumber } from "../arguments.ts";
import { type Cli, toAction } from "../session.ts";
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
