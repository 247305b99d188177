// The provider of extensions of `remora dev`: it listens from the start and loads what it does at the first request.

import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { Secret } from '../../../core/secret.ts';
import { listenOnLoopback } from '../../../http/listen-on-tcp.ts';
import { nodeHttp } from '../../../http/node-http.ts';
import { sendError } from '../../../http/reply.ts';
import type { SampleApp } from './sample-app.ts';

/** What the platform made when the sample was registered. */
export interface SampleRegistration {
  readonly name: string;
  readonly client_id: string;
  readonly provisioning: Secret;
  readonly webhook: Secret;
  readonly client: Secret;
}

export interface SampleSettings {
  /** Where its databases are. */
  readonly dir: string;
  readonly baseUrl: string;
  readonly redirectUri: string;
  /** Closes and signs what the sample keeps for itself. */
  readonly ownKey: Secret;
  readonly registration: SampleRegistration;
  readonly platformUrl: string;
  readonly print: (message: string) => void;
}

export interface SampleExtension extends AsyncDisposable {
  /** Where the platform finds it. */
  readonly baseUrl: string;
  readonly redirectUri: string;
  /** Serves from now on. Before it every request is answered 503. */
  begin(settings: Omit<SampleSettings, 'baseUrl' | 'redirectUri'>): void;
}

const CLOSE_MS = 500;

/** Listens on 127.0.0.1; port 0 takes a free one. Rejects when the port is taken. */
export async function openSampleExtension(options: { readonly port: number }): Promise<SampleExtension> {
  let settings: SampleSettings | undefined;
  let app: Promise<SampleApp> | undefined;
  const load = async (known: SampleSettings) => (await import('./sample-app.ts')).openSampleApp(known);

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (settings === undefined) {
      response.writeHead(503, { 'retry-after': '1' }).end();
      return;
    }
    app ??= load(settings);
    (await app).serve(request, response);
  }

  const server = nodeHttp.createServer({ maxHeaderSize: 32 * 1024 }, (request, response) => {
    response.on('error', () => undefined);
    serve(request, response).catch((error: unknown) => {
      settings?.print(`sample extension: ${toErrorMessage(error)}`);
      sendError(response, error);
    });
  });
  const { port } = await listenOnLoopback(server, '127.0.0.1', options.port);
  const baseUrl = `http://127.0.0.1:${port}/remora`;
  const redirectUri = `${baseUrl}/oauth/callback`;

  return {
    baseUrl,
    redirectUri,
    begin(given) {
      settings = { ...given, baseUrl, redirectUri };
      // Webhooks of an earlier run may wait to be delivered.
      if (!existsSync(join(given.dir, 'kit.db'))) return;
      app = load(settings);
      app.catch((error: unknown) => given.print(`sample extension: ${toErrorMessage(error)}`));
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const cut = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(cut);
      await (await app?.catch(() => undefined))?.[Symbol.asyncDispose]();
    },
  };
}
