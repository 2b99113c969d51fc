import type { Command } from "commander";
import { FAILURES, Failure } from "../core/failures.ts";
import { readConfig } from "./configuration.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { readPreview } from "./preview-file.ts";
import { problemLines } from "./problem-lines.ts";
import type { Session } from "./session.ts";

/** `hl7 validate`. */
export async function validateHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const { connector } = command.opts<{ connector: string }>();
  if (readConfig(session).connectors.some(({ name, type }) => name === connector && type === "csv-drop")) {
    throw new Failure(
      "CLI_USAGE",
      `--connector ${connector}: it reads CSV, not HL7; \`cryobridge preview\` looks at CSV files`,
    );
  }
  const { problems, messages, counts } = await readPreview(
    path,
    { connector, limit: Number.MAX_SAFE_INTEGER },
    session,
  );
  const faulty = messages.filter((message) => message.problems.length > 0);
  const described = [...problems, ...faulty.flatMap((message) => message.problems)];
  if (session.isJson) {
    session.json({
      counts,
      problems: described.map((each) => ({ ...each, mend: FAILURES[each.code].mend })),
    });
  } else {
    for (const line of problemLines(described)) session.line(line);
    const total = counts.accepted + counts.refused + counts.ignored + counts.waiting;
    const told = Object.entries(counts).flatMap(([verdict, count]) =>
      count > 0 ? [`${count} ${verdict}`] : [],
    );
    session.line(`${total} message${total === 1 ? "" : "s"}${told.length > 0 ? `: ${told.join(", ")}` : ""}`);
  }
  return described.length > 0 ? EXIT.failed : undefined;
}
