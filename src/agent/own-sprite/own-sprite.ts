// The operations of this sprite that its platform carries out: each is passed on, in the name of this machine, whatever its body.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ownSpriteOperations } from '../../contract/local/own-sprite.ts';
import { InnerHeaders } from '../../core/http/inner-headers.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import type { EdgeHandlers } from '../../http/handler.ts';
import { PassOn } from '../../http/pass-on.ts';
import type { Caller } from '../access/authenticator.ts';
import { toGatewayPlatform, whyOff } from '../gateway/gateway-platform.ts';
import type { Upstream } from '../upstream.ts';

export interface OwnSpriteOptions {
  readonly config: PlatformSettings;
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  /** The headers of this incarnation. */
  readonly identity: () => Readonly<Record<string, string>>;
  /** Waits while the machine is being suspended or resumed. */
  readonly gate: () => Promise<void> | undefined;
  /** Counts a call until its disposal. */
  readonly begin: (operation: string) => Disposable;
  /** Aborts when this agent ends: a restore from inside waits for that. */
  readonly stopping: AbortSignal;
}

type PlatformSettings = Parameters<typeof toGatewayPlatform>[0];
type Handlers = EdgeHandlers<typeof ownSpriteOperations, Caller>;

/** Copying the files of a machine may take so long before the first line. */
const FIRST_LINE_MS = 3_600_000;
const ROOT = '/v1/';

/** Each operation throws `not_configured` without a platform, and `shutting_down` when the agent ends before the answer. */
export function createOwnSprite({ config, upstream, identity, gate, begin, stopping }: OwnSpriteOptions): Handlers {
  const run = async (id: string, request: IncomingMessage, response: ServerResponse) => {
    const { origin, base, token } = toPlace(config);
    const { streamExchange } = await import('../../http/streaming-proxy.ts');
    await gate();
    const headers = new InnerHeaders([
      'authorization',
      `Bearer ${token.reveal()}`,
      ...Object.entries(identity()).flat(),
    ]);
    using _ = begin(id);
    using cut = cutWhen(stopping);
    await streamExchange(request, response, {
      dispatcher: () => upstream.dispatcher,
      origin,
      path: `${base}/${(request.url ?? '').slice(ROOT.length)}`,
      headers,
      from: 'platform',
      signal: cut.signal,
      headersTimeout_ms: FIRST_LINE_MS,
    });
  };
  const toPassOn = (id: string) => new PassOn<Caller>(({ request }, response) => run(id, request, response));
  const handlers = Object.fromEntries(Object.keys(ownSpriteOperations).map((id) => [id, toPassOn(id)]));
  return handlers as unknown as Handlers;
}

function toPlace(config: PlatformSettings) {
  const platform = toGatewayPlatform(config);
  if (platform === undefined) {
    const message = `the platform of this sprite carries this out, and ${whyOff(config)}`;
    throw new RemoraError('not_configured', message);
  }
  const { origin, pathname } = new URL(platform.baseUrl);
  return { origin, base: `${withoutLastSlashes(pathname)}${ROOT}sprites/${platform.sprite}`, token: platform.token };
}

/** A signal of its own for each exchange, whose reason is an error that callers can read. */
function cutWhen(stopping: AbortSignal): Disposable & { readonly signal: AbortSignal } {
  const cut = new AbortController();
  const onStop = () =>
    cut.abort(new RemoraError('shutting_down', 'the agent is stopping; the platform goes on with it'));
  if (stopping.aborted) onStop();
  stopping.addEventListener('abort', onStop, { once: true });
  return { signal: cut.signal, [Symbol.dispose]: () => stopping.removeEventListener('abort', onStop) };
}
