// Webhooks of providers at the address of the platform: what is signed as it must be is stored, and then answered with 202.
import { type extensionHookOperations, signatureHeader } from '../../../contract/extension-webhooks.ts';
import type { Clock } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Secret } from '../../../core/secret.ts';
import { matchesSignature } from '../../../core/signature.ts';
import { createTokenBucket, type TokenBucket } from '../../../core/token-bucket.ts';
import type { Handlers } from '../../../http/handler.ts';
import type { ExtensionProviders } from '../../extension-providers/extension-providers.ts';
import type { Principal } from '../../tokens/principal.ts';
import { WEBHOOK_WINDOW_MS } from './apply-webhook.ts';
import type { TakeWebhook } from './take-webhook.ts';

export interface WebhookHandlerDeps {
  readonly providers: Pick<ExtensionProviders, 'find' | 'openSecrets'>;
  readonly take: TakeWebhook;
  /** Looks for what is due. */
  readonly look: () => void;
  readonly clock: Clock;
  /** How many webhooks of a provider are taken at once, and then each second. */
  readonly rate?: WebhookRate;
}

export interface WebhookRate {
  readonly burst: number;
  readonly perSecond: number;
}

interface KeptSecrets {
  readonly secrets: readonly Secret[];
  readonly read_ms: number;
}

/** How long a secret that has ended may still be good. */
const KEPT_MS = 1_000;
const UNSIGNED =
  'the webhook is not signed as it must be: X-Signature is the HMAC-SHA256 of the body with the webhook secret, and its timestamp is no further away than 300 s';

/** Each is kept for as long as it could be sent again: this bounds how many there are. */
const RATE: WebhookRate = { burst: 40_000, perSecond: 100 };

export function createWebhookHandlers(deps: WebhookHandlerDeps): Handlers<typeof extensionHookOperations, Principal> {
  const { burst, perSecond } = deps.rate ?? RATE;
  const kept = new Map<string, KeptSecrets>();
  const rates = new Map<string, TokenBucket>();

  /** Call it for a provider that has signed. */
  function checkRate(name: string): void {
    const now_ms = () => deps.clock.mono_ms();
    const bucket = rates.get(name) ?? createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
    rates.set(name, bucket);
    if (bucket.take()) return;
    const message = `more than ${perSecond} webhooks a second, after ${burst} at once; send it again after Retry-After`;
    throw new RemoraError('too_many_requests', message, { retryAfter_ms: bucket.wait_ms() });
  }

  /** Those of a second ago, which may lack one that was made since. */
  function findKept(name: string): readonly Secret[] {
    const known = kept.get(name);
    return known !== undefined && deps.clock.mono_ms() - known.read_ms < KEPT_MS ? known.secrets : [];
  }

  /** Empty for a provider that is not known: its names are not kept, because strangers make them up. */
  async function readSecrets(name: string): Promise<readonly Secret[]> {
    const now_ms = deps.clock.mono_ms();
    const provider = await deps.providers.find(name);
    if (provider === undefined) {
      kept.delete(name);
      return [];
    }
    const secrets = await deps.providers.openSecrets(provider, 'webhook');
    kept.set(name, { secrets, read_ms: now_ms });
    return secrets;
  }

  return {
    async receiveExtensionWebhook({ params, body, rawBody, request }) {
      const signature = request.headers[signatureHeader];
      const fits = (secrets: readonly Secret[]) =>
        typeof signature === 'string' && secrets.some((secret) => matchesSignature(secret, rawBody, signature));
      const isSigned = fits(findKept(params.provider)) || fits(await readSecrets(params.provider));
      const isTimely = Math.abs(deps.clock.wall_ms() - Number(body.timestamp) * 1_000) <= WEBHOOK_WINDOW_MS;
      // One answer for every cause, so that a forger does not learn which check failed.
      if (!isSigned || !isTimely) throw new RemoraError('unauthorized', UNSIGNED);
      checkRate(params.provider);
      if (await deps.take(params.provider, body, rawBody)) deps.look();
    },
  };
}
