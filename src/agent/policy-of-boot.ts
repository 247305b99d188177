// Whether a policy on the disk is the one that is to hold. A disk may be older than its machine, as that of a checkpoint is: then the platform
// brings the policy, and nothing runs before.
import { existsSync, writeFileSync } from 'node:fs';

export interface PolicyOfBoot<Policy> {
  /** Whether this one of the disk may be taken for the one that is to hold. */
  isThis(kept: () => Policy): Promise<boolean>;
  /** The platform has said which one holds. */
  confirm(): void;
  /** What the platform has brought cannot hold here: all who wait are told. */
  refuse(reason: unknown): void;
  /** Resolves with `confirm`, and rejects with `refuse`. */
  confirmed(): Promise<void>;
}

export interface PolicyOfBootOptions<Policy> {
  /** The digest of the policy that is to hold, as of the boot; undefined where there is none. */
  readonly digest: string | undefined;
  /** A file that is gone after the next boot, by which an agent that is started again knows that the policy was confirmed. */
  readonly path: string;
  /** Loaded where there is something to compare. */
  readonly toDigest: () => Promise<(policy: Policy) => string>;
}

export function createPolicyOfBoot<Policy>({
  digest,
  path,
  toDigest,
}: PolicyOfBootOptions<Policy>): PolicyOfBoot<Policy> {
  let waiting = openWaiting();
  return {
    confirmed: () => waiting.promise,
    async isThis(kept) {
      if (digest === undefined || existsSync(path)) return true;
      return (await toDigest())(kept()) === digest;
    },
    confirm() {
      if (digest === undefined) return;
      writeFileSync(path, '');
      waiting.resolve();
    },
    refuse(reason) {
      const before = waiting;
      waiting = openWaiting();
      before.reject(reason);
    },
  };
}

/** Nobody may wait when it is refused. */
function openWaiting(): PromiseWithResolvers<void> {
  const waiting = Promise.withResolvers<void>();
  waiting.promise.catch(() => undefined);
  return waiting;
}
