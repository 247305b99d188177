// What requests reach a machine through.
import type { Duplex } from 'node:stream';
import type { Lanes } from '../channels/lanes.ts';

/** The channel of a machine that is connected here, or a machine at another platform process. */
export interface MachineReach {
  /** Opens a connection to a target of the machine. Rejects as that of `ChannelSession` does. */
  connect(authority: string, signal?: AbortSignal): Promise<Duplex>;
  /** Connections beside the channel; undefined for a machine that is elsewhere, to which each connection is one of its own. */
  readonly lanes?: Pick<Lanes, 'ports'>;
}
