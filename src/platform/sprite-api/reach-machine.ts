// From a sprite's name to the channel of its machine: who may reach in, whether this machine may be reached, and waking it.
import { RemoraError } from '../../core/remora-error.ts';
import type { ChannelSession } from '../channels/channel-session.ts';
import type { Channels } from '../channels/channels.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { Principal } from '../tokens/principal.ts';
import { findTrustedMachine, type TrustedMachineDeps } from './trusted-machine.ts';

export interface ReachMachineDeps extends TrustedMachineDeps {
  readonly machineService: Pick<MachineService, 'start'>;
  readonly channels: Pick<Channels, 'find' | 'wait'>;
  /** The id of this platform process. */
  readonly host: string;
}

/** How long the agent of a machine that runs, or has just been woken, may take to connect. */
const CONNECT_MS = 15_000;
/** A machine that is run elsewhere is connected, or it is away. */
const AWAY_MS = 1_000;

/**
 * Resolves with the channel of a machine that runs: a suspended one is resumed, a stopped one is booted. Throws `not_found`,
 * `not_isolated`, `not_reachable`, `other_host`, and what a start throws.
 */
export type ReachMachine = (principal: Principal, sprite: string) => Promise<ChannelSession>;

export function createReachMachine(deps: ReachMachineDeps): ReachMachine {
  const { channels, machineService } = deps;
  return async (principal, name) => {
    const machine = await findTrustedMachine(deps, principal, name);
    if (machine.config.external === true) return await channels.wait(machine.id, AWAY_MS);
    const open = channels.find(machine.id);
    if (machine.state === 'running' && open !== undefined) return open;
    if (machine.state !== 'running' || machine.host === null) await machineService.start(machine.id);
    else if (machine.host !== deps.host) throw otherHost(machine.host);
    return await channels.wait(machine.id, CONNECT_MS);
  };
}

function otherHost(host: string): RemoraError {
  return new RemoraError('other_host', 'the machine belongs to another platform process; ask that one', {
    details: { host },
  });
}
