// The mail of a platform: the domain of its aliases, and where they are reached. Nothing of it is loaded without a setting.
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { MailOptions } from './mail/mail-options.ts';
import { checkRelayUrl, parseMailDomain } from './mail/parse-mail.ts';
import type { UserStore } from './users/user-store.ts';

export interface MailDeps {
  readonly mail: MailOptions | undefined;
  readonly users: UserStore;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Mail extends AsyncDisposable {
  /** Where mail is taken; undefined where it is not. */
  readonly port: number | undefined;
}

/** Throws `not_configured` for a setting that cannot be read, and what listening throws. */
export async function openMail({ mail, users, clock, log }: MailDeps): Promise<Mail> {
  await using stack = new AsyncDisposableStack();
  let port: number | undefined;
  if (mail !== undefined) {
    const domain = parseMailDomain(mail.domain);
    if ((await users.aliasDomain()) !== domain) {
      await users.setAliasDomain(domain);
      const aliases = await users.countAliasesElsewhere(domain);
      if (aliases > 0) log.warn({ domain, aliases }, 'aliases that were made earlier keep the earlier domain');
    }
    const { transfer } = mail;
    if (transfer !== undefined) {
      checkRelayUrl(transfer.relay);
      const { openMailRelay } = await import('./mail/mail-relay.ts');
      const { openMailServer } = await import('./mail/mail-server.ts');
      const relay = stack.use(await openMailRelay(transfer.relay, domain));
      ({ port } = stack.use(await openMailServer({ transfer, domain, users, relay, clock, log })));
      log.info({ host: transfer.listen.host, port, domain }, 'taking mail for aliases');
    }
  }
  const owned = stack.move();
  return { port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
