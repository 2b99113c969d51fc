import type { ServiceSettings } from "../../src/service/settings.ts";
import { FakeClock } from "./fake-clock.ts";
import { type Row, type StubService, send } from "./stub-service.ts";
import { withStub } from "./with-client.ts";

/** Makes the stub issue tokens `t1`, `t2` … and refuse calls for which `isValid` says no. */
export function issueTokens(
  stub: StubService,
  answer: Row,
  isValid: (token: string) => boolean = () => true,
): void {
  let issued = 0;
  stub.intercept = (request, response) => {
    if (request.url === "/oauth/token") {
      issued += 1;
      send(response, 200, { access_token: `t${issued}`, token_type: "Bearer", ...answer });
      return true;
    }
    const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
    if (isValid(token)) return false;
    send(response, 401, { code: "TOKEN_EXPIRED" });
    return true;
  };
}

export const tokenCalls = (stub: StubService) => stub.count("POST /oauth/token");

export function withOAuth(
  test: Parameters<typeof withStub>[0],
  clock = new FakeClock(),
  given: Partial<Extract<ServiceSettings["auth"], { tokenUrl: string }>> = {},
  more: Partial<ServiceSettings> = {},
  random = () => 0,
): Promise<void> {
  const auth = {
    tokenUrl: "http://127.0.0.1:0/oauth/token",
    clientId: "client id",
    clientSecret: "s3cret:&",
    ...{ method: "basic", assumedLifetimeMs: 300_000 },
    ...given,
  } as const;
  const clientSettings = { auth: auth as ServiceSettings["auth"], concurrency: 60, ...more };
  return withStub(
    async (stub, client) => {
      (auth as { tokenUrl: string }).tokenUrl = `${stub.baseUrl}/oauth/token`;
      await test(stub, client);
    },
    clientSettings,
    { clock, random },
  );
}
