// Finds the channel of the machine of a sprite by its name: who may reach in, whether this machine may be reached, waking it, and where
// its channel is.
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { PASSED_HEADER } from '../../contract/hosts.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelRecords } from '../channels/channel-records.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { Principal } from '../tokens/principal.ts';
import type { OtherPlatforms } from './other-platforms.ts';
import { findTrustedMachine, type TrustedMachineDeps } from './trusted-machine.ts';

export interface ReachMachineDeps extends TrustedMachineDeps {
  /** Starts a machine, perhaps after it has waited for a place. Throws what `MachineService.start` throws. */
  readonly start: (id: string, signal: AbortSignal) => Promise<unknown>;
  readonly machines: TrustedMachineDeps['machines'] & Pick<MachineStore, 'find'>;
  readonly arriving: ArrivingCalls;
  readonly channels: Pick<Channels, 'find' | 'wait'>;
  /** How long the agent of a machine that runs, or has just been woken, may take to connect. */
  readonly connect_ms: number;
  /** Who holds the channels, and the way there; undefined where there is one platform process only. */
  readonly others:
    | { readonly records: Pick<ChannelRecords, 'holderOf'>; readonly platforms: Pick<OtherPlatforms, 'start'> }
    | undefined;
  /** The id of this platform process. */
  readonly host: string;
}

export interface ArrivingCalls {
  /** Counts a call that is on its way to a machine until its disposal: the machine is not put to sleep meanwhile. */
  begin(machine_id: string): Disposable;
  /** Whether a sleep may have begun before the call was counted, so that what was read of the machine may be old. */
  isFallingAsleep(machine_id: string): boolean;
}

/** `host`: the platform process that holds the channel. */
export type Reached = { readonly channel: ChannelSession } | { readonly host: string };

/** A machine that is run elsewhere is connected, or it is away; and one whose call was passed on is connected by the record. */
const AWAY_MS = 1_000;
/** How long a call may be on its way from here to the agent. */
const ARRIVAL_MS = 1_000;
/** How often the record of the channels is read meanwhile. */
const POLL_MS = 250;

/**
 * Resolves with the place of the channel of a machine that runs: a suspended one is resumed, a stopped one is booted. A call that was
 * passed on is reached here or nowhere, so that it never goes on to a third process or back. Throws `not_found`, `not_isolated`,
 * `not_reachable`, `other_host`, and what a start throws.
 */
export type ReachMachine = (request: IncomingMessage, principal: Principal, sprite: string) => Promise<Reached>;

export function createReachMachine(deps: ReachMachineDeps): ReachMachine {
  const { channels, others } = deps;

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

  async function start(machine: MachineRow, principal: Principal, call: ArrivingCall): Promise<void> {
    const { id, host } = machine;
    if (host === null || host === deps.host || others === undefined || call.isPassed) await deps.start(id, call.gone);
    else await others.platforms.start({ ...machine, host }, principal);
  }

  return async (request, principal, name) => {
    const isPassed = request.headers[PASSED_HEADER] !== undefined;
    const known = await findTrustedMachine(deps, principal, name);
    if (known.config.external === true) return await find(known.id, isPassed, AWAY_MS);
    const { arriving: calls } = deps;
    const arriving = calls.begin(known.id);
    try {
      const machine = calls.isFallingAsleep(known.id) ? ((await deps.machines.find(known.id)) ?? known) : known;
      const isUp = machine.state === 'running' && machine.wanted !== 'stopped' && machine.host !== null;
      if (!isUp) {
        using caller = watchCaller(request);
        await start(machine, principal, { isPassed, gone: caller.gone });
      }
      return await find(machine.id, isPassed, isPassed ? AWAY_MS : deps.connect_ms);
    } finally {
      // The agent counts it by then.
      setTimeout(() => arriving[Symbol.dispose](), ARRIVAL_MS).unref();
    }
  };
}

interface ArrivingCall {
  readonly isPassed: boolean;
  /** Aborted when the caller goes away. */
  readonly gone: AbortSignal;
}

/** `gone` aborts when the caller goes away, until it is disposed of: many calls may come over one connection. */
function watchCaller({ socket }: IncomingMessage): { readonly gone: AbortSignal } & Disposable {
  const gone = new AbortController();
  const end = () => gone.abort(new RemoraError('not_reachable', 'the caller went away'));
  if (socket.destroyed) end();
  else socket.once('close', end);
  return { gone: gone.signal, [Symbol.dispose]: () => void socket.off('close', end) };
}
