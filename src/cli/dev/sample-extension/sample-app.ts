// The sample behind its listener: the kit's handler for the platform, the store for programs, and pages for people. Loaded at the first
// request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { toErrorMessage } from '../../../core/error-message.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { sendError } from '../../../http/reply.ts';
import {
  createProviderHandler,
  createSignedCookie,
  openSqliteStore,
  startWebhookSender,
  toNodeListener,
} from '../../../provider/index.ts';
import { serveKv } from './kv-api.ts';
import { createKvFunctions } from './kv-functions.ts';
import { createKvPages } from './kv-pages.ts';
import { openKvStores } from './kv-store.ts';
import type { SampleSettings } from './open-sample-extension.ts';

const SESSION_KEPT_S = 3_600;

export interface SampleApp extends AsyncDisposable {
  serve(request: IncomingMessage, response: ServerResponse): void;
}

export async function openSampleApp(settings: SampleSettings): Promise<SampleApp> {
  const { dir, baseUrl, redirectUri, ownKey, registration, platformUrl, print } = settings;
  await using stack = new AsyncDisposableStack();
  const origin = new URL(baseUrl).origin;
  const onError = (error: unknown) => print(`sample extension: ${toErrorMessage(error)}`);
  const stores = stack.use(openKvStores(join(dir, 'kv.db'), Date.now));
  const kit = stack.use(await openSqliteStore({ path: join(dir, 'kit.db'), sealKey: ownKey }));
  const webhooks = stack.use(
    startWebhookSender({
      platformApiUrl: platformUrl,
      provider: registration.name,
      webhookSecrets: () => [registration.webhook],
      outbox: kit.outbox,
      onGivenUp: ({ action }, reason) => print(`sample extension: the webhook ${action} was not delivered: ${reason}`),
      onError,
    }),
  );
  const session = createSignedCookie({
    secrets: () => [ownKey],
    purpose: 'session',
    path: '/',
    isSecure: false,
    kept_s: SESSION_KEPT_S,
  });
  const handler = createProviderHandler({
    baseUrl,
    provisioningSecrets: () => [registration.provisioning],
    signOnSettings: {
      platformAuthUrl: platformUrl,
      clientId: registration.client_id,
      clientSecret: () => registration.client,
      redirectUri,
    },
    store: kit,
    onError,
    ...createKvFunctions({ stores, origin, session }),
  });
  const listener = toNodeListener(handler);
  const servePage = createKvPages({
    stores,
    session,
    origin,
    toSignOn: (id) => `${baseUrl}/extensions/${encodeURIComponent(id)}/sso`,
    say: (notice) => webhooks.send(notice),
  });

  async function serveOwn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, first] = (request.url ?? '').split(/[/?]/);
    if (first === 'kv') await serveKv(stores, request, response);
    else if (first === 'stores') await servePage(request, response);
    else throw new RemoraError('not_found', 'nothing is served at this path');
  }

  const opened = stack.move();
  return {
    serve(request, response) {
      if (handler.serves(request.url ?? '')) listener(request, response);
      else serveOwn(request, response).catch((error: unknown) => sendError(response, error));
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
