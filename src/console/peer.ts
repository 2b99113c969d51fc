import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import type { AddressList } from "../core/address-list.ts";

/** Who asks. */
export interface Peer {
  /** The address of the one who asks; behind a trusted proxy, what the proxy says of it. */
  readonly address: string;
  /** Whether it came to a trusted proxy over TLS. */
  readonly isSecure: boolean;
}

/**
 * Who sent a request. `X-Forwarded-For` and `X-Forwarded-Proto` count only where a trusted proxy itself is connected:
 * anybody else can write them. Of several addresses the last one that is no trusted proxy's is meant.
 *
 * @param proxies undefined when no proxy is trusted
 */
export function peerOf(
  remoteAddress: string | undefined,
  headers: IncomingHttpHeaders,
  proxies: AddressList | undefined,
): Peer {
  const remote = plainAddress(remoteAddress ?? "");
  if (remote === "" || !proxies?.includes(remote)) return { address: remote, isSecure: false };
  const addresses = [...listOf(headers["x-forwarded-for"]).map(addressIn), remote];
  // What isn't an address was made up by somebody before the last proxy that is trusted.
  const known = addresses.slice(addresses.findLastIndex((address) => isIP(address) === 0) + 1);
  const address = known.findLast((each) => !proxies.includes(each)) ?? known[0] ?? remote;
  return { address, isSecure: listOf(headers["x-forwarded-proto"]).at(-1)?.toLowerCase() === "https" };
}

/**
 * What an address is counted by: an IPv4 address is somebody's, of IPv6 a whole /64 is.
 */
export function peerKey(address: string): string {
  const plain = plainAddress(address);
  if (isIP(plain) !== 6) return plain;
  const [head = "", tail] = plain.split("::", 2);
  const groups = (part: string | undefined) => (part === undefined || part === "" ? [] : part.split(":"));
  const front = groups(head);
  const back = groups(tail);
  // An address that ends in dotted form has one group fewer than it counts; only the first four are of interest.
  const zeros =
    tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length - (plain.includes(".") ? 1 : 0));
  const all = [...front, ...Array.from({ length: zeros }, () => "0"), ...back];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}

/** An IPv4 peer that a dual-stack socket shows as `::ffff:10.1.2.3` is known by its IPv4 address; a zone is left out. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "").replace(/%.*$/, "");
}

function listOf(header: string | string[] | undefined): string[] {
  const text = Array.isArray(header) ? header.join(",") : (header ?? "");
  return text === "" ? [] : text.split(",").map((part) => part.trim());
}

/** Some proxies write the port, too. */
function addressIn(entry: string): string {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d[\d.]*):\d+$/.exec(entry)?.[1] ?? entry;
  return plainAddress(bare);
}
