// Asks the platform for the secrets of the app, as the incarnation of this machine that is served.
import { createClient, type Requester } from '../../client/client.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import { machineSecretOperations } from '../../contract/app-secrets.ts';
import { errorStatus } from '../../contract/errors.ts';
import { Secret } from '../../core/secret.ts';
import { isPlatformsWord } from '../platform-word.ts';

export interface SecretSourceOptions {
  readonly baseUrl: string;
  readonly app: string;
  readonly machine: string;
  readonly dispatcher: () => Requester;
  /** Headers with the credential and the identity of the agent. */
  readonly headers: () => Readonly<Record<string, string>>;
}

/** `withheld`: this machine may not have them any more. `none`: the platform has none for this agent, and says why. */
export type FetchedSecrets =
  | { readonly type: 'known'; readonly secrets: ReadonlyMap<string, Secret> }
  | { readonly type: 'none'; readonly reason: string }
  | { readonly type: 'withheld'; readonly reason: string };

export interface SecretSource {
  /** Throws UpstreamError when the platform does not say. */
  fetch(signal: AbortSignal): Promise<FetchedSecrets>;
}

/** Another copy of this machine is served, or its token has ended. */
const withheld: ReadonlySet<string> = new Set(['incarnation_conflict', 'rewound', 'unauthorized']);
/** The platform lacks the operation. */
const missing: ReadonlySet<number | undefined> = new Set([404, 405, 501]);
const TIMEOUT_MS = 5_000;

export function createSecretSource({ baseUrl, app, machine, ...options }: SecretSourceOptions): SecretSource {
  const client = createClient(machineSecretOperations, { origin: baseUrl, timeout_ms: TIMEOUT_MS, ...options });
  let isProved = false;

  /** Any other answer may be that of a proxy while the platform has secrets: what needs them must not be started without. */
  function isNone(error: UpstreamError): boolean {
    // The token is that of a sprite.
    if (error.status === errorStatus.forbidden) return error.answeredBy === 'remora';
    return missing.has(error.status) && isPlatformsWord(error, isProved);
  }

  return {
    async fetch(signal) {
      try {
        const params = { app_name: app, machine_id: machine };
        const { secrets } = await client.call('readMachineSecrets', { params, signal });
        isProved = true;
        return { type: 'known', secrets: new Map(secrets.map(({ name, value }) => [name, new Secret(value)])) };
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        isProved ||= error.answeredBy === 'remora';
        if (withheld.has(error.code)) return { type: 'withheld', reason: error.message };
        if (isNone(error)) return { type: 'none', reason: error.message };
        throw error;
      }
    },
  };
}
