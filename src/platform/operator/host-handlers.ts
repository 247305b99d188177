// The operations of hosts: the operator lists the platform processes on the database and forgets one that is gone for good.
import type { z } from 'zod';
import type { hostOperations, platformHost } from '../../contract/hosts.ts';
import { toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { HostStore, PlatformHost } from '../hosts/host-store.ts';
import type { Principal } from '../tokens/principal.ts';

/** `hosts` is undefined where there can be only one platform process; both operations then throw `invalid_state`. */
export function createHostHandlers(hosts: HostStore | undefined): Handlers<typeof hostOperations, Principal> {
  function several(): HostStore {
    if (hosts !== undefined) return hosts;
    throw new RemoraError('invalid_state', 'a platform on SQLite is one process; there are no hosts to tell apart');
  }

  return {
    listHosts: async () => ({ hosts: (await several().list()).map(toRecord) }),
    async forgetHost({ params: { host } }) {
      const known = await several().list();
      if (!known.some((each) => each.host === host)) throw new RemoraError('not_found', `there is no host ${host}`);
      await several().forget(host);
    },
  };
}

function toRecord({ seen_at, ...host }: PlatformHost): z.infer<typeof platformHost> {
  return { ...host, seen_at: seen_at === null ? null : toDateTime(seen_at) };
}
