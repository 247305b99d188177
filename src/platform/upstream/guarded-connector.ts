// Connects to a host that a user gave: every address of its name is judged, and only judged addresses are dialled. A name that
// resolves to another address a moment later changes nothing.
import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type * as undici from 'undici';
import { RemoraError } from '../../core/remora-error.ts';
import { buildConnector } from '../../http/undici.ts';
import { isPublicAddress } from './public-address.ts';

/** Resolves a name to all its addresses, as `dns.lookup` does with `all`. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export const resolveBySystem: Resolve = (hostname, done) => lookup(hostname, { all: true }, done);

/** Fails with `upstream_refused` when any address is not public: a name with both kinds is not trusted at all. */
export function createGuardedConnector(timeout_ms: number, resolve: Resolve): undici.buildConnector.connector {
  const connect = buildConnector({ timeout: timeout_ms, lookup: toGuardedLookup(resolve) });
  return (options, callback) => {
    const host = options.hostname.replaceAll(/[[\]]/g, '');
    // An address in the URL itself is dialled without a look-up.
    if (isIP(host) !== 0 && !isPublicAddress(host)) callback(refused(), null);
    else connect(options, callback);
  };
}

export function toGuardedLookup(resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const [first] = addresses;
      if (first === undefined || !addresses.every(({ address }) => isPublicAddress(address))) {
        return callback(refused(), '');
      }
      if (options.all === true) callback(null, [...addresses]);
      else callback(null, first.address, first.family);
    });
  };
}

function refused(): RemoraError {
  return new RemoraError('upstream_refused', 'the address of this connector does not lead to the public internet');
}
