import { type Command, Option } from "commander";
import { Failure } from "../../core/failures.ts";
import { parseId } from "../../ledger/ids.ts";
import { listFiles } from "../../ledger/messages/file-views.ts";
import { FILE_LIST } from "../../operator/lists/files.ts";
import { notFound } from "../../operator/thing.ts";
import { FILES } from "../../operator/things/files.ts";
import { wholeNumber } from "../arguments.ts";
import { defineList } from "../list-command.ts";
import type { OpenSite } from "../open.ts";
import { defineShow, getNamed } from "../record-commands.ts";
import type { Cli } from "../session.ts";

/** `cryobridge files …`. */
export function define(files: Command, cli: Cli): void {
  defineList(files, cli, FILE_LIST, {
    ...{ isDefault: true, examples: ["cryobridge files list --status refused --since 1d"] },
  });
  defineShow(files, cli, FILES, {
    argument: "such as f12, or the beginning of its name",
    examples: ["cryobridge files show f12"],
    options: [
      new Option("--limit <n>", "at most this many messages").argParser(wholeNumber(1, 10_000)).default(50),
    ],
    find: async (site, word) => {
      const id = parseId("f", word) === undefined ? await idOfName(site, word) : word;
      return getNamed(FILES, site, id);
    },
  });
}

/** Among this many whose names begin with a word, one that has it as its whole name is looked for. */
const WITH_NAME = 100;

/** The id of the only file whose name is this, or else begins with it. @throws Failure CLI_NOT_FOUND, CLI_USAGE for several */
async function idOfName({ pool }: OpenSite, name: string): Promise<string> {
  const found = await listFiles(pool, { name, limit: WITH_NAME });
  const exact = found.filter(({ fileName }) => fileName === name);
  const [first, another] = exact.length > 0 ? exact : found;
  if (first === undefined) throw notFound(FILES, name);
  if (another === undefined) return first.fileId;
  const hint = `Choose one of \`cryobridge files list --find ${name}\` by its id.`;
  throw new Failure("CLI_USAGE", { message: `several files have a name that begins with ${name}`, hint });
}
