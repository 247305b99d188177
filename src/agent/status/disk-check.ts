// Serves whether the disk of the state directory can be written, within a time.
import type { checkOperations } from '../../contract/local/check.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { DiskProbe } from './disk-probe.ts';

export interface DiskCheckOptions {
  readonly probe: DiskProbe;
  readonly clock: Clock;
  readonly limit_ms?: number;
}

const LIMIT_MS = 2_000;

export function createDiskCheck(options: DiskCheckOptions): Handlers<typeof checkOperations, unknown> {
  const { clock, limit_ms = LIMIT_MS, probe } = options;
  return {
    async checkAgent() {
      const begun_ms = clock.mono_ms();
      const late = Promise.withResolvers<'wedged'>();
      const timer = setTimeout(() => late.resolve('wedged'), limit_ms);
      const disk = await Promise.race([probe.ask(), late.promise]);
      clearTimeout(timer);
      return { disk, elapsed_ms: Math.round(clock.mono_ms() - begun_ms) };
    },
  };
}
