// The flags of `remora platform` for an OpenID provider where people sign in.
import { Secret } from '../../core/secret.ts';
import type { OpenIdSettings } from '../../platform/sign-on/upstream/open-id-issuer.ts';
import type { Flag, Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { readSecretFile } from '../secret-file.ts';

export const signInFlags: Readonly<Record<string, Flag>> = {
  'sign-in-issuer': {
    type: 'string',
    value: 'URL',
    summary:
      'an OpenID provider where users sign in too, by a verified email address; it redirects to /oauth/sign-in/callback',
  },
  'sign-in-client': { type: 'string', value: 'ID', summary: 'what the platform is called there' },
  'sign-in-secret-file': { type: 'string', value: 'FILE', summary: 'with its secret there (mode 0600)' },
};

/** Empty without a setting. Throws UsageError, and what `readSecretFile` throws. */
export function readSignInFlags(text: Invocation['text']): { signInIssuer?: OpenIdSettings } {
  const [issuer, client_id, file] = [text('sign-in-issuer'), text('sign-in-client'), text('sign-in-secret-file')];
  if (issuer === undefined && client_id === undefined && file === undefined) return {};
  if (issuer === undefined || client_id === undefined || file === undefined) {
    throw new UsageError('platform: --sign-in-issuer, --sign-in-client and --sign-in-secret-file belong together');
  }
  return { signInIssuer: { issuer, client_id, client_secret: new Secret(readSecretFile(file).trim()) } };
}
