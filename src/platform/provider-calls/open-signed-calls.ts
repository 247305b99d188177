// Opens the connections on which providers of extensions are called. Nothing is loaded or dialled before the first call.
import type { Dispatcher } from 'undici';
import type { Clock } from '../../core/clock.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';
import { createSignedCall, type SignedCall } from './signed-call.ts';

export interface SignedCalls extends AsyncDisposable {
  readonly call: SignedCall;
}

/** Of one provider. */
const CONNECTIONS_MAX = 16;
const CONNECT_MS = 5_000;

export function openSignedCalls(providers: Pick<ExtensionProviders, 'openSecrets'>, clock: Clock): SignedCalls {
  let opened: Promise<Dispatcher> | undefined;

  async function open(): Promise<Dispatcher> {
    const { Agent } = await import('../../http/undici.ts');
    return new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: CONNECT_MS } });
  }

  return {
    call: createSignedCall({
      providers,
      openDispatcher() {
        opened ??= open();
        return opened;
      },
      clock,
    }),
    async [Symbol.asyncDispose]() {
      await (await opened)?.destroy();
    },
  };
}
