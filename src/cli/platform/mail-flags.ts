// The flags of `remora platform` for the mail that reaches users under their aliases.
import { Secret } from '../../core/secret.ts';
import { takeVariable } from '../../linux/take-variable.ts';
import type { MailOptions } from '../../platform/mail/mail-options.ts';
import type { Flag, Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseListen } from './parse-listen.ts';

export const mailFlags: Readonly<Record<string, Flag>> = {
  'mail-domain': {
    type: 'string',
    value: 'DOMAIN',
    summary: 'the domain of the aliases of users that are made from now on (users.invalid)',
  },
  'mail-listen': {
    type: 'string',
    value: 'HOST:PORT',
    summary: 'take mail for aliases there by SMTP, and pass it on to their owners; with --mail-domain and --mail-relay',
  },
  'mail-relay': {
    type: 'string',
    value: 'URL',
    summary:
      'the server that passes it on, such as smtp://mail.example.com:587 (REMORA_MAIL_RELAY, where it has a password)',
  },
};

/** Empty without a setting. Deletes REMORA_MAIL_RELAY from `env`, so that no child inherits it. Throws UsageError. */
export function readMailFlags({ text, env }: Pick<Invocation, 'text' | 'env'>): { mail?: MailOptions } {
  const [domain, listen] = [text('mail-domain'), text('mail-listen')];
  const variable = takeVariable(env, 'REMORA_MAIL_RELAY').value;
  const relay = text('mail-relay') ?? variable;
  if (domain === undefined) {
    if (listen === undefined && text('mail-relay') === undefined) return {};
    throw new UsageError('platform: --mail-listen and --mail-relay need --mail-domain');
  }
  if ((listen === undefined) !== (relay === undefined)) {
    throw new UsageError('platform: --mail-listen and --mail-relay belong together');
  }
  if (listen === undefined || relay === undefined) return { mail: { domain } };
  return { mail: { domain, transfer: { listen: parseListen('mail-listen', listen), relay: new Secret(relay) } } };
}
