// Wires what tells providers of the machines of their apps, of users and of hosts.
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { randomFraction } from '../core/urandom.ts';
import type { Changes } from './changes.ts';
import type { ExtensionProviders } from './extension-providers/extension-providers.ts';
import { createNoticeSender } from './machine-notices/notice-sender.ts';
import { createNoticeStore } from './machine-notices/notice-store.ts';
import { createNoticeWorker } from './machine-notices/notice-worker.ts';
import type { SignedCall } from './provider-calls/signed-call.ts';
import type { Storage } from './storage/storage.ts';

export interface OpenNoticesDeps {
  readonly storage: Storage;
  readonly providers: Pick<ExtensionProviders, 'find'>;
  readonly call: SignedCall;
  readonly changes: Pick<Changes, 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Looks at once: a platform that ended may have left something. Dispose of it before the storage. */
export function openNotices({ storage, changes, ...deps }: OpenNoticesDeps): AsyncDisposable {
  const store = createNoticeStore(storage);
  const send = createNoticeSender({ ...deps, store, random: randomFraction });
  const worker = createNoticeWorker({ ...deps, store, send });
  changes.subscribe('machine_event', worker.wake);
  worker.wake();
  return worker;
}
