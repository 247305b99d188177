// The secrets of the app for a supervisor that may never be used: what works with them is loaded when the first program is to be started.
import type { Log } from '../../core/log.ts';
import type { Secret } from '../../core/secret.ts';
import type { Upstream } from '../upstream.ts';
import type { AppSecrets, AppSecretsOptions } from './app-secrets.ts';

export interface SecretsWay extends Pick<AppSecretsOptions, 'generation' | 'gate' | 'random' | 'signal'> {
  readonly upstream: Pick<Upstream, 'dispatcher'>;
  /** The headers of this incarnation. */
  readonly identity: () => Readonly<Record<string, string>>;
}

export interface LazySecretsOptions extends SecretsWay, Pick<AppSecretsOptions, 'supervisor' | 'send'> {
  readonly config: {
    readonly baseUrl: string | undefined;
    readonly token: Secret | undefined;
    readonly app: string | undefined;
    readonly machine: string | undefined;
    readonly stateDir: string;
  };
  readonly log: Log;
}

export interface LazySecrets extends AppSecrets {
  /** Resolves when a supervisor that starts now waits for the secrets. Rejects when the part cannot be loaded. */
  begin(): Promise<void>;
}

export function createLazySecrets(options: LazySecretsOptions): LazySecrets {
  let opening: ReturnType<typeof open> | undefined;
  let opened: Awaited<ReturnType<typeof open>> | undefined;

  async function open() {
    const { config, upstream, identity } = options;
    const { baseUrl, token, app, machine, stateDir } = config;
    const { forgetAppSecrets, SuppliedSecrets } = await import('./app-secrets.ts');
    if (baseUrl === undefined || token === undefined || app === undefined || machine === undefined) {
      forgetAppSecrets(stateDir);
      return undefined;
    }
    const { createSecretSource } = await import('./secret-source.ts');
    const source = createSecretSource({
      ...{ baseUrl, app, machine },
      dispatcher: () => upstream.dispatcher,
      headers: () => ({ authorization: `Bearer ${token.reveal()}`, ...identity() }),
    });
    const secrets = new SuppliedSecrets({ ...options, stateDir, source });
    secrets.begin();
    return secrets;
  }

  async function load() {
    opening ??= open();
    opened = await opening;
    return opened;
  }

  return {
    async begin() {
      await load();
    },
    settle: async () => await (await load())?.settle(),
    changed: () => opened?.changed(),
    reconcile: () => opened?.reconcile(),
  };
}
