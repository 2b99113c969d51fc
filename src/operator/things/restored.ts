import { countMayBeThere, findRestored, liftRestored } from "../../ledger/restored/restore.ts";
import type { SiteAct } from "../site-act.ts";
import { counted } from "../text.ts";

/** Decides that nothing more is compared with the service on account of a restore of the ledger. */
export const RELEASE_AFTER_RESTORE = {
  ...{ command: "orders release-after-restore", button: "Go on without comparing", reason: "required" },
  path: "/orders/release-after-restore",
  help: "Stop comparing orders with the service after the ledger was restored from an older copy: what waits for that is submitted.",
  example: 'cryobridge orders release-after-restore --reason "the lab has sent everything again"',
  explains:
    "Nothing more is compared with the service on account of the restore, and what waits for that is submitted.",
  isDangerous: true,
  warnings: async ({ pool }) => {
    const restored = await findRestored(pool);
    if (restored === undefined) return [];
    const { uncompared } = restored;
    const parked = await countMayBeThere(pool);
    return [
      ...(uncompared > 0
        ? [
            `${counted(uncompared, "open order was", "open orders were")} not compared with the service yet, and may be there already.`,
          ]
        : []),
      ...(parked > 0
        ? [
            `${counted(parked, "parked order")} may be at the service already (\`cryobridge orders list --state parked\`), and nothing guards them from being sent once more after this: link each by \`cryobridge orders resolve ID\` first.`,
          ]
        : []),
    ];
  },
  act: async ({ pool }, by) => {
    const [isDone, text] = wordsOf(await liftRestored(pool, by), await countMayBeThere(pool));
    return {
      isDone,
      lines: [[isDone ? "done" : "failed", text]],
      json: { results: [{ id: "ledger", isDone, text }] },
    };
  },
} as const satisfies SiteAct;

/** @param uncompared undefined where there was no restore to lift */
function wordsOf(uncompared: number | undefined, waiting: number): readonly [isDone: boolean, text: string] {
  if (uncompared === undefined)
    return [false, "the ledger is not known to have been restored; nothing was done"];
  const rest = uncompared === 0 ? "" : ` (${counted(uncompared, "was not compared", "were not compared")})`;
  const parked =
    waiting === 0
      ? ""
      : `; ${counted(waiting, "parked order waits", "parked orders wait")} for a person since the service may have the request: link each by \`cryobridge orders resolve\` before it is tried again, and discard none whose containers are stored`;
  return [
    true,
    `nothing more is compared with the service on account of the restore${rest}; orders go on${parked}`,
  ];
}
