// The settings of mail as the operator gives them. Pure.
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const DOMAIN_MAX = 200;
/** The query of a relay to which nothing goes without TLS. */
const STARTTLS_REQUIRED = '?starttls=required';

/** The domain in lower case. Throws `not_configured` for what is no domain of a mail address. */
export function parseMailDomain(given: string): string {
  const domain = given.toLowerCase();
  const labels = domain.split('.');
  if (labels.length > 1 && domain.length <= DOMAIN_MAX && labels.every((label) => LABEL.test(label))) return domain;
  throw new RemoraError('not_configured', `the mail domain must be one such as users.example.com, not ${given}`);
}

/** Throws `not_configured`, without the URL: it may hold a password. */
export function checkRelayUrl(relay: Secret): void {
  const text = relay.reveal();
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare = url !== undefined && /^\/?$/.test(url.pathname) && url.hash === '';
  const isPlain = url?.search === '' && /^smtps?:$/.test(url.protocol);
  const needsTls = url?.search === STARTTLS_REQUIRED && url.protocol === 'smtp:';
  if (isBare && (isPlain || needsTls) && url.hostname !== '' && canDecode(url)) return;
  throw new RemoraError(
    'not_configured',
    'the mail relay must be a URL such as smtp://mail.example.com:587, smtp://mail.example.com:587?starttls=required or smtps://NAME:PASSWORD@mail.example.com',
  );
}

function canDecode({ username, password }: URL): boolean {
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
}
