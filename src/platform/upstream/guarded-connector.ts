// Connecting to an address that a user gave: every address that its name has now is judged, and only those that were judged are
// dialled. A name that is answered otherwise a moment later changes nothing.
import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { RemoraError } from '../../core/remora-error.ts';
import { isPublicAddress } from './public-address.ts';

/** All addresses of a name, like `dns.lookup` with `all`. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export const resolveBySystem: Resolve = (hostname, done) => lookup(hostname, { all: true }, done);

/** Fails with `upstream_refused` where any address is not public: a name with both kinds is not to be trusted with either. */
export function createGuardedConnector(timeout_ms: number, resolve: Resolve): buildConnector.connector {
  const connect = buildConnector({ timeout: timeout_ms, lookup: toGuardedLookup(resolve) });
  return (options, callback) => {
    const host = options.hostname.replaceAll(/[[\]]/g, '');
    // A literal is dialled without a look-up.
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
