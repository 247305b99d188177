// Opens the channels of this platform process, and closes each when its machine stands still, another incarnation is served, or its token has
// ended.
import type { MachineStatus } from '../../contract/machines.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Changes } from '../changes.ts';
import type { ChannelRecords } from './channel-records.ts';
import { type Channels, type ChannelsOptions, createChannels } from './channels.ts';

const NO_AGENT_RUNS: readonly MachineStatus[] = ['suspended', 'stopped', 'starting'];

export function openChannels(
  changes: Pick<Changes, 'subscribe'>,
  records: Pick<ChannelRecords, 'opened' | 'closed'> | undefined,
  log: Log,
  clock: Clock,
  { prepare, onRefused }: Pick<ChannelsOptions, 'prepare' | 'onRefused'> = {},
): Channels {
  const channels = createChannels({
    records,
    prepare,
    onRefused,
    log,
    now_ms: clock.mono_ms,
  });
  changes.subscribe('incarnation_replaced', ({ sprite_id }) => void channels.recheck(sprite_id));
  changes.subscribe('revalidation_due', () => void channels.recheck());
  changes.subscribe('machine_moved', ({ sprite_id, state }) => {
    // A machine that is about to start still stands still: what its agent had asked for right before may have come after its suspend.
    if (NO_AGENT_RUNS.includes(state)) channels.closeOf(sprite_id, `the machine is ${state}`);
  });
  return channels;
}
