import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.ts";
import { withFolder } from "../support/with-folder.ts";
import { runCli } from "./run-cli.ts";
import { ENV } from "./with-lab.ts";
import { serviceConfig } from "./with-service.ts";

const TOTAL = 50_000;
const PAGE = 1_000;

/** A service with a list of 50,000 tanks, and a command line's configuration for it. */
async function withHugeList(
  onPage: (page: number) => number,
  test: (configFile: string) => Promise<void>,
): Promise<void> {
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://tanks");
    const page = Number(searchParams.get("page"));
    const perPage = Number(searchParams.get("perPage"));
    const first = (page - 1) * perPage;
    const length = Math.max(0, Math.min(perPage, TOTAL - first));
    const entries = Array.from({ length }, (_, n) => ({ id: first + n + 1, name: `Tank ${first + n + 1}` }));
    response.writeHead(onPage(page), { "content-type": "application/json" });
    response.end(JSON.stringify(entries));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    await withFolder(async (folder) => {
      const configFile = join(folder, "c.yaml");
      await writeFile(
        configFile,
        serviceConfig(url, undefined, ["maxRequestsPerSecond: 10000", `perPage: ${PAGE}`]),
      );
      await test(configFile);
    });
  } finally {
    server.close();
  }
}

const ARGV = ["service", "storage", "--all"];

describe("a list of 50,000 entries", () => {
  it.each([
    ["a table", [], /^ *\d+ {2}Tank /gm],
    ["JSON", ["--json"], /"name":"Tank /g],
  ])("goes out as %s page by page, each written before the next is asked for", async (_form, more, entry) => {
    let written = 0;
    const writtenAtPage: number[] = [];
    const onPage = (page: number) => {
      writtenAtPage[page] = written;
      return 200;
    };
    await withHugeList(onPage, async (configFile) => {
      const { status, stdout } = await runCli(["--config", configFile, ...ARGV, ...more], {
        env: ENV,
        onStdout: (text) => {
          written += text.match(entry)?.length ?? 0;
        },
      });
      expect(status).toBe(0);
      expect(stdout.match(entry)).toHaveLength(TOTAL);
      // At each page all entries before it were out, so that none but those of one page are kept.
      expect(writtenAtPage.slice(1)).toEqual(writtenAtPage.slice(1).map((_, index) => index * PAGE));
    });
  });

  it("stays one JSON document when the service fails on the way, with the failure in it", async () => {
    await withHugeList(
      (page) => (page < 4 ? 200 : 500),
      async (configFile) => {
        const { status, stdout } = await runCli(["--config", configFile, ...ARGV, "--json"], { env: ENV });
        expect(status).toBe(4);
        const document = JSON.parse(stdout);
        expect(document.storage).toHaveLength(3 * PAGE);
        expect(document).toMatchObject({ count: 3 * PAGE, error: { code: "SERVICE_UNAVAILABLE" } });
      },
    );
  });

  it("shows what came before the service failed, and says that it breaks off", async () => {
    await withHugeList(
      (page) => (page < 2 ? 200 : 500),
      async (configFile) => {
        const { status, stdout, stderr } = await runCli(["--config", configFile, ...ARGV], { env: ENV });
        expect(status).toBe(4);
        expect(stdout.split("\n")).toHaveLength(PAGE + 2);
        expect(stderr).toContain(`breaks off here, after ${PAGE}`);
      },
    );
  });

  it("is read no further once nobody reads the output any more", async () => {
    const pages: number[] = [];
    const onPage = (page: number) => {
      pages.push(page);
      return 200;
    };
    await withHugeList(onPage, async (configFile) => {
      const status = await run(["--config", configFile, ...ARGV], {
        stdout: { write: () => true, drained: async () => pages.length < 3 },
        stderr: { write: () => true },
        env: ENV,
        isTTY: false,
      });
      expect(status).toBe(0);
      expect(pages).toEqual([1, 2, 3]);
    });
  });
});
