// What every network policy leaves open: the platform, the machines API, and what the operator of the machine names.
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { NetworkExemptions } from '../../contract/local/network.ts';
import { withDeadline } from '../../core/with-deadline.ts';
import { isLoopback } from '../../http/is-loopback.ts';

export interface ExemptSettings {
  readonly baseUrl: string | undefined;
  readonly machinesApi: { readonly socketPath: string } | { readonly origin: string } | undefined;
  readonly networkExempt: { readonly names: readonly string[]; readonly networks: readonly string[] };
}

const LOOKUP_MS = 2_000;
/** A name of the platform with more addresses is open by its name alone for the others. */
const MOST_ADDRESSES = 8;

/**
 * Names stay open as names, those of the platform with their port. The addresses that these have now are open as well, so that connections to them go on when a
 * policy begins. A name that does not resolve is open by its name alone.
 */
export async function findExemptions({
  baseUrl,
  machinesApi,
  networkExempt,
}: ExemptSettings): Promise<NetworkExemptions> {
  const api = machinesApi !== undefined && 'origin' in machinesApi ? machinesApi.origin : undefined;
  const hosts = [baseUrl, api].flatMap((url) => (url === undefined ? [] : [toHost(url)]));
  const far = hosts.filter(({ host }) => !isLoopback(host));
  const found = await Promise.all(far.map(findAddresses));
  const names = far.flatMap(({ host, port }) => (isIP(host) === 0 ? [{ name: host, port }] : []));
  return {
    names: [...names, ...networkExempt.names.map((name) => ({ name }))],
    networks: [...found.flat(), ...networkExempt.networks.map((network) => ({ network }))],
  };
}

interface Host {
  readonly host: string;
  readonly port: number;
}

function toHost(url: string): Host {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

async function findAddresses({ host, port }: Host): Promise<{ network: string; port: number }[]> {
  const found =
    isIP(host) === 0 ? await withDeadline(LOOKUP_MS, lookup(host, { all: true })).catch(() => []) : [{ address: host }];
  return found.slice(0, MOST_ADDRESSES).map(({ address }) => ({ network: address, port }));
}
