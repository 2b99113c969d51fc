import { basename, dirname } from "node:path";
import { parseClaim } from "../../src/connectors/drop-folder/claim.ts";
import { systemFileOps } from "../../src/connectors/drop-folder/file-ops.ts";
import type { DropDirectories, DropFolderDeps } from "../../src/connectors/drop-folder/settings.ts";

/** The steps between which a crash test stops, in the order in which a file meets them. */
export const STEPS = [
  "noted",
  "claim",
  "claimed",
  "claims-durable",
  "read",
  "accepted",
  "settled",
  "data-moved",
  "text-report-moved",
  "json-report-moved",
  "moves-durable",
  "finished",
] as const;
export type Step = (typeof STEPS)[number] | "out-written" | "out-linked" | "out-unlinked";

/** Called at each step; what it returns is waited for. */
export type OnStep = (step: Step) => void | Promise<void>;

/** The ports of a drop folder, with a step between two calls of them: all that it does to files and to the ledger goes through these. */
export function withSteps(
  deps: DropFolderDeps,
  directories: DropDirectories,
  onStep: OnStep,
): DropFolderDeps {
  const { intake, dropped } = deps;
  const ops = { ...systemFileOps, ...deps.fileOps };
  let synced = "";
  return {
    ...deps,
    intake: {
      ...inspecting(intake),
      openFile: async (...words) => {
        await onStep("read");
        const opening = await intake.openFile(...words);
        const [, , messages] = words;
        if (messages.length > 0) await onStep("accepted");
        return opening;
      },
      accept: async (...words) => {
        const verdicts = await intake.accept(...words);
        await onStep("accepted");
        return verdicts;
      },
      settleFile: async (...words) => {
        const settled = await intake.settleFile(...words);
        await onStep("settled");
        return settled;
      },
    },
    dropped: {
      ledger: dropped.ledger,
      claim: async (...words) => {
        const mayMove = await dropped.claim(...words);
        await onStep("noted");
        return mayMove;
      },
      forget: (...words) => dropped.forget(...words),
      takeOver: (...words) => dropped.takeOver(...words),
      finish: async (...words) => {
        await onStep("moves-durable");
        await dropped.finish(...words);
        await onStep("finished");
      },
      listDue: (...words) => dropped.listDue(...words),
      record: (...words) => dropped.record(...words),
    },
    fileOps: {
      ...ops,
      rename: async (from, to) => {
        const isClaim = to.startsWith(directories.work);
        if (isClaim) await onStep("claim");
        await ops.rename(from, to);
        if (isClaim) await onStep("claimed");
        else if (parseClaim("", basename(String(from)))) await onStep("data-moved");
      },
      link: async (from, to) => {
        const isResult = dirname(to) === directories.out;
        if (isResult) await onStep("out-written");
        await ops.link(from, to);
        if (isResult) await onStep("out-linked");
        else await onStep(to.endsWith(".txt") ? "text-report-moved" : "json-report-moved");
      },
      syncFolder: async (folder) => {
        if (folder === directories.out) await onStep("out-unlinked");
        await ops.syncFolder(folder);
        const before = synced;
        synced = folder;
        if (before === directories.in && dirname(folder) === directories.work) await onStep("claims-durable");
      },
    },
  };
}

/** What changes nothing. */
function inspecting(intake: DropFolderDeps["intake"]) {
  return {
    inspect: (...words: Parameters<typeof intake.inspect>) => intake.inspect(...words),
    answerBatch: (...words: Parameters<typeof intake.answerBatch>) => intake.answerBatch(...words),
  };
}
