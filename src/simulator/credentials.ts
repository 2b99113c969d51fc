import type { Clock } from "../core/clock.ts";
import { Failure } from "../core/failures.ts";
import type { ClientOptions, OrganizationOptions, TokenOptions } from "./options.ts";
import type { Random } from "./random.ts";

/** Who makes a call: an integration of one organization. */
export interface Caller {
  readonly clientId: string;
  readonly organizationId: number;
}

/** Clients and the tokens that are out. */
export class Credentials {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #lifetimeMs: number;
  readonly #clients = new Map<string, { client: ClientOptions; caller: Caller; secret: string }>();
  readonly #apiTokens = new Map<string, Caller>();
  readonly #issued = new Map<string, { caller: Caller; expiresAt: number }>();

  constructor(
    organizations: readonly OrganizationOptions[],
    options: { readonly clock: Clock; readonly random: Random; readonly tokens: TokenOptions },
  ) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#lifetimeMs = options.tokens.lifetimeMs;
    for (const organization of organizations) {
      for (const client of organization.clients) {
        if (this.#clients.has(client.clientId) || this.#apiTokens.has(client.apiToken ?? "")) {
          throw new Failure("CONFIG_INVALID", "two clients of the simulator share an id or an API token");
        }
        const caller = { clientId: client.clientId, organizationId: organization.id };
        this.#clients.set(client.clientId, { client, caller, secret: client.clientSecret });
        if (client.apiToken !== undefined) this.#apiTokens.set(client.apiToken, caller);
      }
    }
  }

  /** The client behind an id and its secret; undefined when either is wrong. */
  findClient(clientId: string, secret: string): Caller | undefined {
    const entry = this.#clients.get(clientId);
    return entry && entry.secret === secret ? entry.caller : undefined;
  }

  /** A new access token, good for the lifetime of the options from now on. */
  issue(caller: Caller): string {
    const token = `at_${this.#random.hex(40)}`;
    this.#issued.set(token, { caller, expiresAt: this.#clock.monotonic() + this.#lifetimeMs });
    return token;
  }

  /**
   * Who holds this access token or API token (`kind` lets one of them pass only); undefined when it is unknown,
   * expired or revoked.
   */
  findCaller(token: string, kind?: "accessToken" | "apiToken"): Caller | undefined {
    const issued = this.#issued.get(token);
    if (issued && issued.expiresAt <= this.#clock.monotonic()) {
      this.#issued.delete(token);
      return undefined;
    }
    if (kind !== "apiToken" && issued) return issued.caller;
    return kind === "accessToken" ? undefined : this.#apiTokens.get(token);
  }

  /** One token is good no longer. */
  revoke(token: string): void {
    this.#issued.delete(token);
    this.#apiTokens.delete(token);
  }

  /** All access tokens are good no longer; API tokens stay. */
  revokeIssued(): void {
    this.#issued.clear();
  }

  /** A client's secret is another from now on; tokens that are out stay good. */
  rotateSecret(clientId: string, secret: string): void {
    const entry = this.#clients.get(clientId);
    if (entry) entry.secret = secret;
  }
}
