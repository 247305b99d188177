// The operations of hosts: the operator lists the platform processes on the database, drains one, and forgets one that is gone for good.
import type { z } from 'zod';
import type { hostOperations, platformHost } from '../../contract/hosts.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { createDrainStore } from '../hosts/drain-store.ts';
import { createHostStore, type HostSelf, type PlatformHost } from '../hosts/host-store.ts';
import { readReservedMemory } from '../hosts/reserved-memory.ts';
import { createNoticeOutbox } from '../machine-notices/notice-outbox.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';

export interface HostHandlerDeps {
  readonly storage: Storage;
  /** Whether several platform processes may share the database. */
  readonly isShared: boolean;
  /** This platform process; undefined where the platform does not run. */
  readonly self?: HostSelf | undefined;
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
    const [known, self] = await Promise.all([hosts.list(), deps.self?.sign()]);
    // No host leaves a sign of its life on SQLite, and a host that runs no platform has none.
    const own = self === undefined ? toOnlyHost(isShared) : { ...self, seen_at: clock.wall_ms() };
    if (own === undefined) return known;
    const found = known.find(({ host }) => host === own.host);
    const others = known.filter((each) => each !== found);
    return [...others, { machines: 0, ...found, ...own }].sort((one, other) => (one.host < other.host ? -1 : 1));
  }

  async function find(name: string): Promise<string> {
    const own = deps.self?.host ?? toOnlyHost(isShared)?.host;
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
    if (host === deps.self?.host) await deps.upkeep?.();
  }

  return {
    async listHosts() {
      const [known, drained, reserved] = await Promise.all([list(), drains.list(), readReservedMemory(storage)]);
      return { hosts: known.map((host) => toRecord(host, drained.get(host.host), reserved.get(host.host) ?? 0)) };
    },
    async drainHost({ params }) {
      const host = await find(params.host);
      await storage.transaction(async (sql) => {
        const inside = createDrainStore(sql);
        if ((await inside.drainedSince(host)) !== undefined) return;
        await inside.drain(host, clock.wall_ms());
        await createNoticeOutbox(sql).addOfHost(host, 'drained', clock.wall_ms());
      });
      await tell(host);
    },
    async undrainHost({ params }) {
      const host = await find(params.host);
      await storage.transaction(async (sql) => {
        const inside = createDrainStore(sql);
        if ((await inside.drainedSince(host)) === undefined) return;
        await inside.undrain(host);
        await createNoticeOutbox(sql).addOfHost(host, 'undrained', clock.wall_ms());
      });
      await tell(host);
    },
    async forgetHost({ params: { host } }) {
      if (!isShared) {
        throw new RemoraError('invalid_state', 'a platform on SQLite is one process; there are no hosts to tell apart');
      }
      const known = await hosts.list();
      if (!known.some((each) => each.host === host)) throw new RemoraError('not_found', `there is no host ${host}`);
      await hosts.forget(host, clock.wall_ms());
      await drains.undrain(host);
    },
  };
}

function toOnlyHost(isShared: boolean): Omit<PlatformHost, 'machines'> | undefined {
  if (isShared) return undefined;
  const unknown = { address: null, version: null, seen_at: null, boot_id: null, total_mb: null, resident_mb: null };
  return { host: ONLY_HOST, ...unknown };
}

function toRecord(
  { seen_at, ...host }: PlatformHost,
  drained_at: number | undefined,
  reserved_mb: number,
): z.infer<typeof platformHost> {
  const drained = drained_at === undefined ? {} : { drained_at: toDateTime(drained_at) };
  return { ...host, seen_at: seen_at === null ? null : toDateTime(seen_at), ...drained, reserved_mb };
}
