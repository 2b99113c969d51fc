import { expect, it } from "vitest";
import { reasonIn } from "../../../src/ledger/embedded/programs.ts";

it.each([
  [
    "a full disk",
    `running bootstrap script ... 2026-11-27 15:31:25.509 UTC [7420] FATAL:  could not extend file "base/1/2691": No space left on device
2026-11-27 15:31:25.509 UTC [7420] HINT:  Check free disk space.
2026-11-27 15:31:25.509 UTC [7420] PANIC:  cannot abort transaction 1, it was already committed
child process exited with exit code 134
initdb: removing data directory "/data/postgres/init-1/data"
`,
    'could not extend file "base/1/2691": No space left on device',
  ],
  [
    "rights",
    'creating directory /data ... initdb: error: could not create directory "/data": Permission denied\n',
    'could not create directory "/data": Permission denied',
  ],
  ["a program that isn't there", "spawn /native/bin/initdb ENOENT", "spawn /native/bin/initdb ENOENT"],
])(
  "a database that could not be made quotes the reason and not what initdb says last: %s",
  (_, output, reason) => {
    expect(reasonIn(output)).toBe(reason);
  },
);
