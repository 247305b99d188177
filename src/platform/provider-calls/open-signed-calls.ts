// Opens the connections on which providers of extensions are called. Nothing is loaded or dialled before the first call.
import type { Dispatcher } from 'undici';
import type { Clock } from '../../core/clock.ts';
import type { ExtensionProviders } from '../extension-providers/extension-providers.ts';
import { createSignedCall, type SignedCall } from './signed-call.ts';

export interface SignedCalls extends AsyncDisposable {
  readonly call: SignedCall;
}

/** Bounds the connections to one provider. */
const CONNECTIONS_MAX = 16;
const CONNECT_MS = 5_000;

export function openSignedCalls(providers: Pick<ExtensionProviders, 'openSecrets'>, clock: Clock): SignedCalls {
  const opened = new Map<boolean, Promise<Dispatcher>>();

  async function open(keepsConnection: boolean): Promise<Dispatcher> {
    const { Agent } = await import('../../http/undici.ts');
    // A connection with none in its pipeline ends with its request.
    const pipelining = keepsConnection ? 1 : 0;
    return new Agent({ connections: CONNECTIONS_MAX, connect: { timeout: CONNECT_MS }, pipelining });
  }

  return {
    call: createSignedCall({
      providers,
      openDispatcher(keepsConnection) {
        const dispatcher = opened.get(keepsConnection) ?? open(keepsConnection);
        opened.set(keepsConnection, dispatcher);
        return dispatcher;
      },
      clock,
    }),
    async [Symbol.asyncDispose]() {
      await Promise.all([...opened.values()].map(async (dispatcher) => await (await dispatcher).destroy()));
    },
  };
}
