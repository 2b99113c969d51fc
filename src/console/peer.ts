import ipaddr from "ipaddr.js";
import type { AddressList } from "../core/address-list.ts";

/**
 * Whom Fastify takes for a proxy, whose `X-Forwarded-For` and `X-Forwarded-Proto` count: anybody else can write them.
 *
 * @param proxies undefined when no proxy is trusted
 */
export function trustOf(
  proxies: AddressList | undefined,
): false | ((address: string | undefined) => boolean) {
  if (proxies === undefined) return false;
  return (address) => {
    const plain = plainAddress(address ?? "");
    return plain !== undefined && proxies.includes(plain);
  };
}

/** All that a proxy passed on and that is no address is one peer: what somebody makes up gives no new tries. */
const NO_ADDRESS = "no address";

/**
 * The address of who asks, without port and zone.
 *
 * @param ip what Fastify says; undefined, whatever its type is, once the connection was reset
 */
export function addressOf(ip: string | undefined): string {
  const plain = plainAddress(ip ?? "");
  return plain === undefined ? NO_ADDRESS : ipaddr.process(plain).toString();
}

/** What an address is counted by: an IPv4 address is somebody's, of IPv6 a whole /64 is. */
export function peerKey(address: string): string {
  if (!ipaddr.IPv6.isValid(address)) return address;
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/64`)}/64`;
}

/** Without the port that Azure's Application Gateway and IIS write, and AWS's load balancer can, and without a zone. */
function plainAddress(entry: string): string | undefined {
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(entry)?.[1] ?? /^(\d[\d.]*):\d+$/.exec(entry)?.[1] ?? entry;
  const plain = bare.replace(/%.*$/, "");
  return ipaddr.IPv4.isValidFourPartDecimal(plain) || ipaddr.IPv6.isValid(plain) ? plain : undefined;
}
