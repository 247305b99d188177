// What the mail of a platform is opened with.
import type { Secret } from '../../core/secret.ts';

export interface MailOptions {
  /** The domain of aliases that are made from now on. */
  readonly domain: string;
  /** Where mail to aliases is taken, and the server that it is passed to; without it the aliases of this platform work elsewhere or not at all. */
  readonly transfer?: MailTransfer;
}

export interface MailTransfer {
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** `smtp://` or `smtps://`, with name and password where the server asks for them. */
  readonly relay: Secret;
  readonly limits?: MailLimits;
}

export interface MailLimits {
  readonly message_bytes: number;
  /** All messages that are on their way at once. */
  readonly total_bytes: number;
  readonly clients: number;
  readonly recipients: number;
  /** Mails at once, and then each second; of one sender, and to one alias. */
  readonly ofSender: MailRate;
  readonly toAlias: MailRate;
  /** Recipients that nobody is, from one address. */
  readonly unknown: MailRate;
}

export interface MailRate {
  readonly burst: number;
  readonly perSecond: number;
}

const MB = 1024 * 1024;

export const defaultMailLimits: MailLimits = {
  message_bytes: 10 * MB,
  total_bytes: 64 * MB,
  clients: 100,
  recipients: 10,
  ofSender: { burst: 60, perSecond: 1 / 6 },
  toAlias: { burst: 30, perSecond: 1 / 30 },
  unknown: { burst: 20, perSecond: 1 / 10 },
};
