// From a sprite's name to the channel of its machine: who may reach in, whether this machine may be reached, waking it, and where its
// channel is.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import type { ChannelRecords } from '../channels/channel-records.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import { findTrustedMachine, type TrustedMachineDeps } from './trusted-machine.ts';

export interface ReachMachineDeps extends TrustedMachineDeps {
  readonly machineService: Pick<MachineService, 'start'>;
  readonly channels: Pick<Channels, 'find' | 'wait'>;
  /** Who holds the channels, and the way there; undefined where there is one platform process only. */
  readonly others:
    | { readonly records: Pick<ChannelRecords, 'holderOf'>; readonly platforms: Pick<OtherPlatforms, 'start'> }
    | undefined;
  /** The id of this platform process. */
  readonly host: string;
}

/** `host`: the platform process that holds the channel. */
export type Reached = { readonly channel: ChannelSession } | { readonly host: string };

/** How long the agent of a machine that runs, or has just been woken, may take to connect. */
const CONNECT_MS = 15_000;
/** A machine that is run elsewhere is connected, or it is away; and one whose call was passed on is connected by the record. */
const AWAY_MS = 1_000;
/** How often the record of the channels is read meanwhile. */
const POLL_MS = 250;

/**
 * Resolves with the place of the channel of a machine that runs: a suspended one is resumed, a stopped one is booted. A call that was
 * passed on is reached here or nowhere, so that it never goes on to a third process or back. Throws `not_found`, `not_isolated`,
 * `not_reachable`, `other_host`, and what a start throws.
 */
export type ReachMachine = (request: IncomingMessage, principal: Principal, sprite: string) => Promise<Reached>;

export function createReachMachine(deps: ReachMachineDeps): ReachMachine {
  const { channels, machineService, others } = deps;

  /** Looks here, and in the record unless the call was passed on already. */
  async function find(machine_id: string, isPassed: boolean, limit_ms: number): Promise<Reached> {
    const here = channels.find(machine_id);
    if (here !== undefined) return { channel: here };
    if (others === undefined || isPassed) return { channel: await channels.wait(machine_id, limit_ms) };
    const gone = new AbortController();
    try {
      return await Promise.race([
        channels.wait(machine_id, limit_ms).then((channel) => ({ channel })),
        elsewhere(others.records, machine_id, gone.signal).then((host) => ({ host })),
      ]);
    } finally {
      gone.abort();
    }
  }

  /** Resolves when another process holds the channel by the record; never, once `gone`. */
  async function elsewhere(
    records: Pick<ChannelRecords, 'holderOf'>,
    machine_id: string,
    gone: AbortSignal,
  ): Promise<string> {
    for (;;) {
      const host = await records.holderOf(machine_id);
      if (host !== undefined && host !== deps.host) return host;
      if (gone.aborted) return await new Promise(() => undefined);
      await sleep(POLL_MS);
    }
  }

  async function start(machine: MachineRow, principal: Principal, isPassed: boolean): Promise<void> {
    const { id, host } = machine;
    if (host === null || host === deps.host || others === undefined || isPassed) await machineService.start(id);
    else await others.platforms.start({ ...machine, host }, principal);
  }

  return async (request, principal, name) => {
    const isPassed = request.headers[PASSED_HEADER] !== undefined;
    const machine = await findTrustedMachine(deps, principal, name);
    if (machine.config.external === true) return await find(machine.id, isPassed, AWAY_MS);
    if (machine.state !== 'running' || machine.host === null) await start(machine, principal, isPassed);
    return await find(machine.id, isPassed, isPassed ? AWAY_MS : CONNECT_MS);
  };
}
