// Makes and checks the proofs of calls that platform processes pass on to each other.
import { PASSED_HEADER } from '../../contract/hosts.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomToken } from '../../core/urandom.ts';
import { type PassedCall, type PassedTarget, parsePassedHeader, toPassedHeader } from './passed-call.ts';

export interface HostPasses {
  /** `key_id`: a vault key that the process `to` has too. */
  make(key_id: string, call: Pick<PassedCall, 'to' | 'token' | 'organization'>, target: PassedTarget): string;
  /** Takes a proof once. Throws `unauthorized`, and `other_host` for a proof that another process should have got. */
  take(value: string, target: PassedTarget): PassedCall;
}

export interface HostPassesOptions {
  readonly host: string;
  /** The key that is derived from this vault key; undefined when it was not given. */
  readonly keyOf: (key_id: string) => Uint8Array | undefined;
  /** Unix milliseconds. */
  readonly now_ms: () => number;
}

/** How far the clocks of two hosts may be apart. */
const WINDOW_MS = 60_000;
const ONCE_BYTES = 16;

export function createHostPasses({ host, keyOf, now_ms }: HostPassesOptions): HostPasses {
  const used = new Map<string, number>();

  function forgetOld(now: number): void {
    for (const [once, at] of used) {
      if (now - at <= 2 * WINDOW_MS) return;
      used.delete(once);
    }
  }

  return {
    make(key_id, call, target) {
      const key = keyOf(key_id);
      if (key === undefined) throw new Error(`the vault key ${key_id} was not given`);
      return toPassedHeader(key_id, key, { ...call, at: now_ms(), once: randomToken(ONCE_BYTES) }, target);
    },
    take(value, target) {
      const now = now_ms();
      const call = parsePassedHeader(value, target, keyOf);
      if (call === undefined || Math.abs(now - call.at) > WINDOW_MS || used.has(call.once)) {
        throw new RemoraError('unauthorized', `the header ${PASSED_HEADER} is not valid`);
      }
      if (call.to !== host) {
        const message =
          'this call was passed on to the wrong platform process; look at the addresses in `remora host list`';
        throw new RemoraError('other_host', message, { details: { host: call.to } });
      }
      forgetOld(now);
      used.set(call.once, now);
      return call;
    },
  };
}
