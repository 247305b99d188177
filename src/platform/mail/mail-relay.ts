// The server that mail is passed to. What it answers about the addresses of users stays inside.
import { Readable } from 'node:stream';
import { nextSlice } from '../../core/next-slice.ts';
import type { Secret } from '../../core/secret.ts';
import { withoutBrackets } from '../../core/without-brackets.ts';
import { isLoopback } from '../../http/is-loopback.ts';
import { MailRefusal } from './mail-refusal.ts';

export interface Envelope {
  readonly from: string;
  readonly to: readonly string[];
}

export interface MailRelay extends AsyncDisposable {
  /** Resolves with how many recipients the server refused, when it took the mail for at least one. Throws a refusal otherwise. */
  send(envelope: Envelope, mail: Buffer): Promise<number>;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 60_000;
const CONNECTIONS = 4;
const SLICE_BYTES = 16 * 1024;

/**
 * The URL was checked by `checkRelayUrl`. TLS is used where the server offers it. With `?starttls=required`, and where a password would go to
 * another machine, nothing is sent without it, and the certificate must be good; otherwise any certificate is better than none.
 */
export async function openMailRelay(relay: Secret, domain: string): Promise<MailRelay> {
  const { createTransport } = await import('nodemailer');
  const url = new URL(relay.reveal());
  const secure = url.protocol === 'smtps:';
  const host = withoutBrackets(url.hostname);
  const user = decodeURIComponent(url.username);
  const needsTls = secure || url.search !== '' || (user !== '' && !isLoopback(host));
  const transport = createTransport({
    host,
    port: url.port === '' ? (secure ? 465 : 25) : Number(url.port),
    secure,
    name: domain,
    pool: true,
    maxConnections: CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
    requireTLS: needsTls,
    tls: { rejectUnauthorized: needsTls },
    ...(user === '' ? {} : { auth: { user, pass: decodeURIComponent(url.password) } }),
  });
  // The library looks at each byte of what it is given at once, and copies what is around each line break that it mends.
  transport.use('stream', ({ message }, done) => {
    message.processFunc((whole) => Readable.from(toSlices(whole), { objectMode: false }));
    done();
  });
  return {
    async send({ from, to }, mail) {
      try {
        const info = await transport.sendMail({ envelope: { from, to: [...to] }, raw: mail });
        return info.rejected.length;
      } catch (error) {
        throw isFinal(error)
          ? new MailRefusal(554, '5.0.0', 'the mail cannot be delivered')
          : new MailRefusal(451, '4.4.0', 'the mail cannot be passed on now; try again later');
      }
    },
    async [Symbol.asyncDispose]() {
      transport.close();
    },
  };
}

async function* toSlices(whole: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of whole) {
    for (let from = 0; from < chunk.length; from += SLICE_BYTES) {
      yield chunk.subarray(from, from + SLICE_BYTES);
      await nextSlice();
    }
  }
}

/** Whether the server itself said that it will never take this mail: not for want of a connection or of its own authentication. */
function isFinal(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { responseCode, code } = error as { readonly responseCode?: unknown; readonly code?: unknown };
  return typeof responseCode === 'number' && responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE');
}
