// A real mail server as the relay of a platform: it keeps what it takes, and refuses what the test asks for.
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { atEnd } from './at-end.ts';

export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  /** It came over TLS. */
  readonly isSecure: boolean;
}

export interface TestRelay {
  readonly url: string;
  readonly port: number;
  readonly mails: TakenMail[];
  /** The reply to this recipient, such as 550. */
  readonly refusals: Map<string, number>;
  /** Ends it before the end of the test. */
  close(): Promise<void>;
}

export interface RelayLogin {
  readonly user: string;
  readonly pass: string;
}

/** Offers TLS when `startTls` is set, with a certificate that nobody has signed. */
export async function openTestRelay(login?: RelayLogin, { startTls = false } = {}): Promise<TestRelay> {
  const mails: TakenMail[] = [];
  const refusals = new Map<string, number>();
  const server = new SMTPServer({
    authOptional: login === undefined,
    disabledCommands: [...(login === undefined ? ['AUTH'] : []), ...(startTls ? [] : ['STARTTLS'])],
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    onAuth: ({ username, password }, _session, done) =>
      username === login?.user && password === login?.pass ? done(null, { user: username }) : done(new Error('no')),
    onRcptTo({ address }, _session, done) {
      const responseCode = refusals.get(address);
      done(responseCode === undefined ? null : Object.assign(new Error(`<${address}> is refused`), { responseCode }));
    },
    onData(stream, { envelope, secure: isSecure }, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from, to, text: Buffer.concat(chunks).toString('latin1'), isSecure });
        done(null);
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  atEnd(close);
  const { port } = server.server.address() as AddressInfo;
  const credentials = login === undefined ? '' : `${login.user}:${encodeURIComponent(login.pass)}@`;
  return { url: `smtp://${credentials}127.0.0.1:${port}`, port, mails, refusals, close };
}
