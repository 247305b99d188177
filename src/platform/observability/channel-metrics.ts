// What the channels of machines add to the metrics: how many are open, with how many streams and lanes.
import { Counter, Gauge, type Registry } from 'prom-client';

export interface ChannelCounts {
  readonly channels: number;
  readonly streams: number;
  /** Counts by what lanes are for: how many are open now, and how many of those that were asked for since the start were opened or not. */
  readonly lanes: Readonly<Record<'files' | 'ports', { open: number; opened: number; failed: number }>>;
}

/** `read` runs when somebody asks for the metrics. */
export function addChannelMetrics(registers: Registry[], read: () => ChannelCounts): void {
  new Gauge({
    name: 'remora_platform_channels',
    help: 'Channels of machines that are open.',
    registers,
    collect() {
      this.set(read().channels);
    },
  });
  new Gauge({
    name: 'remora_platform_channel_streams',
    help: 'Streams that are open on all channels.',
    registers,
    collect() {
      this.set(read().streams);
    },
  });
  new Gauge({
    name: 'remora_platform_lanes',
    help: 'Connections of machines beside their channels that are open, for large files and for requests to ports.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, { open }] of Object.entries(read().lanes)) this.set({ kind }, open);
    },
  });
  new Counter({
    name: 'remora_platform_lane_openings_total',
    help: 'Lanes that machines were asked to open, by what they are for and whether one was opened.',
    labelNames: ['kind', 'result'],
    registers,
    collect() {
      this.reset();
      for (const [kind, { opened, failed }] of Object.entries(read().lanes)) {
        this.inc({ kind, result: 'opened' }, opened);
        this.inc({ kind, result: 'failed' }, failed);
      }
    },
  });
}
