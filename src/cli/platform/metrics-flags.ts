// The flags of `remora platform` that say where `/metrics` is served, and with which token.
import { Secret } from '../../core/secret.ts';
import type { MetricsAccess } from '../../platform/observability/metrics-listener.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { readSecretFile } from '../secret-file.ts';
import { parseListen } from './parse-listen.ts';

export interface MetricsFlags {
  readonly access: MetricsAccess;
  /** Takes the token that is in the file now. Throws as `readMetricsFlags` does, and keeps the previous one then. */
  readAgain(): void;
}

/** Throws UsageError, and what `readSecretFile` throws. */
export function readMetricsFlags(text: Invocation['text']): MetricsFlags {
  const listen = text('metrics-listen');
  const file = text('metrics-token-file');
  let token = file === undefined ? undefined : readToken(file);
  return {
    access: {
      ...(listen === undefined ? {} : { listen: parseListen('metrics-listen', listen) }),
      token: () => token,
    },
    readAgain() {
      if (file !== undefined) token = readToken(file);
    },
  };
}

function readToken(path: string): Secret {
  const token = readSecretFile(path).trim();
  if (/^[\x21-\x7e]{16,512}$/.test(token)) return new Secret(token);
  throw new UsageError(`platform: ${path} must hold a token of 16 to 512 visible characters and nothing else`);
}
