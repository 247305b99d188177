// Sends port notices to the platform, oldest first, one request at a time.

import { createClient } from '../../client/client.ts';
import { portNoticeOperations } from '../../contract/port-notices.ts';
import type { Secret } from '../../core/secret.ts';
import type { Upstream } from '../upstream.ts';
import type { QueuedNotice } from './port-ledger.ts';

export interface NoticeSender {
  /** One name for the pair of platform and sprite. */
  readonly target: string;
  /** Resolves once the platform has stored all of them. Throws UpstreamError. */
  send(notices: readonly QueuedNotice[], signal: AbortSignal): Promise<void>;
}

export interface NoticeSenderOptions {
  readonly baseUrl: string;
  readonly sprite: string;
  readonly token: Secret;
  readonly upstream: Upstream;
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits for this machine's time after a resume; resolves at once when the signal is aborted. */
  readonly mayGoOut?: ((signal: AbortSignal) => Promise<void>) | undefined;
}

export function createNoticeSender(options: NoticeSenderOptions): NoticeSender {
  const { baseUrl, sprite, token, upstream, identity, mayGoOut } = options;
  const client = createClient(portNoticeOperations, {
    origin: baseUrl,
    dispatcher: () => upstream.dispatcher,
    headers: () => ({ authorization: `Bearer ${token.reveal()}`, ...identity() }),
  });
  return {
    target: `${baseUrl} ${sprite}`,
    async send(queued, signal) {
      await mayGoOut?.(signal);
      const body = { notices: queued.map(({ notice }) => notice) };
      await client.call('postPortNotices', { params: { name: sprite }, body, signal });
    },
  };
}
