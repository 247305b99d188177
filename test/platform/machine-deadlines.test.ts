import { expect, test } from 'vitest';
import { type DeadlineOptions, toConnectDeadline, toStartDeadline } from '../../src/platform/machine-deadlines.ts';

const qemu = (accel: 'kvm' | 'tcg') => ({ accel }) as NonNullable<DeadlineOptions['qemu']>;

test.each<[string, DeadlineOptions, number, number]>([
  ['a process', {}, 30_000, 15_000],
  ['a virtual machine', { qemu: qemu('kvm') }, 60_000, 30_000],
  ['an emulated one', { qemu: qemu('tcg') }, 300_000, 150_000],
  ['one with a deadline of its own', { qemu: qemu('tcg'), startDeadline_ms: 100_000 }, 100_000, 50_000],
  ['one with a short deadline', { startDeadline_ms: 4_000 }, 4_000, 15_000],
])(
  '%s has its time to start, and half of it to connect, but never less than is usual',
  (_what, options, start_ms, connect_ms) => {
    expect([toStartDeadline(options), toConnectDeadline(options)]).toEqual([start_ms, connect_ms]);
  },
);
