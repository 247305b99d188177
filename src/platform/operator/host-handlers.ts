// The operations of hosts: the operator lists the platform processes on the database, drains one, and forgets one that is gone for good.
import type { z } from 'zod';
import type { hostOperations, platformHost } from '../../contract/hosts.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { createDrainStore } from '../hosts/drain-store.ts';
import { createHostStore, type PlatformHost } from '../hosts/host-store.ts';
import { readReservedMemory } from '../hosts/reserved-memory.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';

export interface HostHandlerDeps {
  readonly storage: Storage;
  /** Whether several platform processes may share the database. */
  readonly isShared: boolean;
  /** The id of this platform process; undefined where the platform does not run. */
  readonly host?: string | undefined;
  /** Looks after the machines of this host at once. */
  readonly upkeep?: (() => Promise<void>) | undefined;
  readonly clock: Clock;
}

/** Stands for the host that answers. */
const SELF = 'self';
/** The only host on SQLite. */
const ONLY_HOST = 'local';

export function createHostHandlers(deps: HostHandlerDeps): Handlers<typeof hostOperations, Principal> {
  const { storage, isShared, clock } = deps;
  const hosts = createHostStore(storage);
  const drains = createDrainStore(storage);

  async function list(): Promise<readonly PlatformHost[]> {
    const known = await hosts.list();
    const own = isShared ? deps.host : ONLY_HOST;
    if (own === undefined || known.some(({ host }) => host === own)) return known;
    return [...known, { host: own, machines: 0, address: null, version: null, seen_at: null }];
  }

  async function find(name: string): Promise<string> {
    const own = isShared ? deps.host : ONLY_HOST;
    if (name === SELF && own === undefined) {
      throw new RemoraError('invalid_state', 'no platform runs here, so there is no host of its own; name the host');
    }
    const host = name === SELF ? own : name;
    const found = (await list()).find((each) => each.host === host);
    if (found === undefined) throw new RemoraError('not_found', `there is no host ${name}`);
    return found.host;
  }

  /** Another host sees it at its next look. */
  async function tell(host: string): Promise<void> {
    if (host === deps.host) await deps.upkeep?.();
  }

  return {
    async listHosts() {
      const [known, drained, reserved] = await Promise.all([list(), drains.list(), readReservedMemory(storage)]);
      return { hosts: known.map((host) => toRecord(host, drained.get(host.host), reserved.get(host.host) ?? 0)) };
    },
    async drainHost({ params }) {
      const host = await find(params.host);
      await drains.drain(host, clock.wall_ms());
      await tell(host);
    },
    async undrainHost({ params }) {
      const host = await find(params.host);
      await drains.undrain(host);
      await tell(host);
    },
    async forgetHost({ params: { host } }) {
      if (!isShared) {
        throw new RemoraError('invalid_state', 'a platform on SQLite is one process; there are no hosts to tell apart');
      }
      const known = await hosts.list();
      if (!known.some((each) => each.host === host)) throw new RemoraError('not_found', `there is no host ${host}`);
      await hosts.forget(host);
      await drains.undrain(host);
    },
  };
}

function toRecord(
  { seen_at, ...host }: PlatformHost,
  drained_at: number | undefined,
  reserved_mb: number,
): z.infer<typeof platformHost> {
  const drained = drained_at === undefined ? {} : { drained_at: toDateTime(drained_at) };
  return { ...host, seen_at: seen_at === null ? null : toDateTime(seen_at), ...drained, reserved_mb };
}
