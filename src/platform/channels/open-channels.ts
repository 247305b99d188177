// Opens the channels of this platform process, and closes each when its machine stands still or another incarnation is served.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Changes } from '../changes.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import type { ChannelRecords } from './channel-records.ts';
import { type Channels, createChannels } from './channels.ts';

export function openChannels(
  incarnations: Pick<IncarnationStore, 'load'>,
  changes: Pick<Changes, 'subscribe'>,
  records: Pick<ChannelRecords, 'opened' | 'closed'> | undefined,
  log: Log,
  clock: Clock,
): Channels {
  const channels = createChannels({
    async isServed(sprite_id, { generation, incarnation }) {
      const known = (await incarnations.load(sprite_id))?.known;
      return known?.generation === generation && known.incarnation === incarnation;
    },
    records,
    log,
    now_ms: clock.mono_ms,
  });
  changes.subscribe('incarnation_replaced', ({ sprite_id }) => void channels.recheck(sprite_id));
  changes.subscribe('revalidation_due', () => void channels.recheck());
  changes.subscribe('machine_moved', ({ sprite_id, state }) => {
    if (state === 'suspended' || state === 'stopped') channels.closeOf(sprite_id, `the machine is ${state}`);
  });
  return channels;
}
