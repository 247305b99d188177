// All that comes for a machine through this platform process: what the proxy carries, and calls that are on their way to the agent, which
// counts them itself once they are there.
import type { MachineTraffic } from '../proxy/machine-traffic.ts';

export interface Traffic {
  inFlight(machine_id: string): number;
  /** How long nothing has come through the proxy; Infinity where that is not known, and 0 while something is in flight. */
  quiet_ms(machine_id: string): number;
}

export interface TrafficSources {
  readonly proxied: Pick<MachineTraffic, 'inFlight' | 'quietSince_ms'>;
  readonly arriving: Pick<MachineTraffic, 'inFlight'>;
  /** Monotonic. */
  readonly now_ms: () => number;
}

export function createTraffic({ proxied, arriving, now_ms }: TrafficSources): Traffic {
  const inFlight = (id: string) => proxied.inFlight(id) + arriving.inFlight(id);
  return {
    inFlight,
    quiet_ms(id) {
      if (inFlight(id) > 0) return 0;
      return now_ms() - (proxied.quietSince_ms(id) ?? Number.NEGATIVE_INFINITY);
    },
  };
}
