// The connections of an agent whose settings name nobody to connect to: there are none.
import { RemoraError } from '../core/remora-error.ts';
import type { Upstream } from './upstream.ts';

export function createNoUpstream(): Upstream {
  const refuse = (): never => {
    throw new RemoraError('not_configured', 'the settings of this agent name no platform, no machines API and no node');
  };
  return {
    get dispatcher() {
      return refuse();
    },
    get calls() {
      return refuse();
    },
    overSocket: refuse,
    retire: async () => undefined,
    cut: () => async () => undefined,
    replace: async () => undefined,
    askBeforeHandshakes: () => undefined,
    mayHandshake: () => true,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
