// Takes mail for aliases and passes it on to their owners, and to nobody else. A mail counts as taken when the relay has taken it: nothing
// waits here, so nothing is lost here.
import type { AddressInfo } from 'node:net';
import type { SMTPServerAddress, SMTPServerDataStream, SMTPServerSession } from 'smtp-server';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { AliasOwner, Member } from '../users/user-store.ts';
import { createKeyedRates } from './keyed-rates.ts';
import { checkMailHeader, toTraceLines } from './mail-header.ts';
import { defaultMailLimits, type MailTransfer } from './mail-options.ts';
import { MailRefusal } from './mail-refusal.ts';
import type { MailRelay } from './mail-relay.ts';

export interface MailServerDeps {
  readonly transfer: MailTransfer;
  readonly domain: string;
  readonly users: {
    findByAlias(alias: string): Promise<AliasOwner | undefined>;
    listMembers(organization_id: string): Promise<readonly Member[]>;
  };
  readonly relay: MailRelay;
  readonly clock: Clock;
  readonly log: Log;
}

export interface MailServer extends AsyncDisposable {
  readonly port: number;
}

/** A connection that is silent for so long is closed. */
const SILENCE_MS = 60_000;
const CLOSE_MS = 2_000;

/** Where the relay sends what it cannot deliver. Such mail ends here: an answer to it would tell a sender the address of a user. */
const BOUNCES = 'bounces';

export async function openMailServer(deps: MailServerDeps): Promise<MailServer> {
  const { SMTPServer } = await import('smtp-server');
  const { domain, log } = deps;
  const limits = deps.transfer.limits ?? defaultMailLimits;
  const session = createMailSession(deps);
  const server = new SMTPServer({
    name: domain,
    banner: 'Remora',
    size: limits.message_bytes,
    rejectOversized: true,
    maxClients: limits.clients,
    maxRecipients: limits.recipients,
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    socketTimeout: SILENCE_MS,
    closeTimeout: CLOSE_MS,
    logger: false,
    onMailFrom: (address, { remoteAddress }, done) =>
      void session.checkSender(address, remoteAddress).then(() => done(), done),
    onRcptTo: (address, { remoteAddress }, done) =>
      void session.checkRecipient(address.address, remoteAddress).then(() => done(), done),
    onData: (stream, about, done) => void session.take(stream, about).then(() => done(null, '2.0.0 passed on'), done),
  });
  // Connections break, and senders speak badly: that is no fault of the platform.
  server.on('error', (err) => log.debug({ err }, 'a connection of a mail server broke'));
  const { host, port } = deps.transfer.listen;
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, host, () => {
      server.server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function createMailSession({ transfer, domain, users, relay, clock, log }: MailServerDeps) {
  const limits = transfer.limits ?? defaultMailLimits;
  const now_ms = () => clock.mono_ms();
  const senders = createKeyedRates(limits.ofSender, now_ms);
  const aliases = createKeyedRates(limits.toAlias, now_ms);
  const unknown = createKeyedRates(limits.unknown, now_ms);
  const bounces = `${BOUNCES}@${domain}`;
  let held_bytes = 0;

  /** The addresses behind an alias: of the user, or of the admins of the organization. */
  async function listTargets(alias: string): Promise<readonly string[]> {
    const owner = await asked(users.findByAlias(alias));
    if (owner === undefined) return [];
    if (owner.kind === 'user') return [owner.user.email];
    const members = await asked(users.listMembers(owner.organization_id));
    return members.filter(({ role }) => role === 'admin').map(({ user }) => user.email);
  }

  /** The database is away: the sender tries again. */
  async function asked<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (err) {
      log.warn({ err }, 'the owner of an alias could not be read');
      throw new MailRefusal(451, '4.3.0', 'try again later');
    }
  }

  async function readMail(stream: SMTPServerDataStream): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        held_bytes += chunk.length;
        // What is too long is read to its end and dropped, so that the sender reads the answer.
        if (bytes <= limits.message_bytes && held_bytes <= limits.total_bytes) chunks.push(chunk);
        else held_bytes -= chunk.length;
      }
    } finally {
      held_bytes -= lengthOf(chunks);
    }
    if (bytes > limits.message_bytes) throw new MailRefusal(552, '5.3.4', 'the mail is too long');
    if (lengthOf(chunks) < bytes) throw new MailRefusal(451, '4.3.1', 'too much mail at once; try again later');
    return Buffer.concat(chunks);
  }

  return {
    async checkSender({ address }: SMTPServerAddress, remoteAddress: string): Promise<void> {
      const key = address === '' ? `none ${remoteAddress}` : address.toLowerCase();
      if (!senders.take(key)) throw new MailRefusal(450, '4.7.1', 'too much mail from this sender; try again later');
    },

    async checkRecipient(address: string, remoteAddress: string): Promise<void> {
      if (!unknown.has(remoteAddress))
        throw new MailRefusal(450, '4.7.1', 'too many wrong recipients; try again later');
      const alias = address.toLowerCase();
      if (alias === bounces) return;
      if ((await listTargets(alias)).length === 0) {
        unknown.take(remoteAddress);
        throw new MailRefusal(550, '5.1.1', 'there is no such recipient here');
      }
      if (!aliases.take(alias))
        throw new MailRefusal(450, '4.7.1', 'too much mail for this recipient; try again later');
    },

    async take(stream: SMTPServerDataStream, session: SMTPServerSession): Promise<void> {
      const mail = await readMail(stream);
      checkMailHeader(mail, domain);
      const recipients = session.envelope.rcptTo.map(({ address }) => address.toLowerCase());
      const known = recipients.filter((alias) => alias !== bounces);
      const targets = new Set((await Promise.all(known.map(listTargets))).flat());
      const fields = { id: session.id, bytes: mail.length, aliases: known.length };
      if (targets.size === 0) {
        if (known.length > 0) throw new MailRefusal(550, '5.1.1', 'there is no such recipient here');
        log.info(fields, 'a mail that could not be delivered came back');
        return;
      }
      const { hostNameAppearsAs: helo, remoteAddress, id } = session;
      const trace = toTraceLines({ domain, helo, address: remoteAddress, id, now_ms: clock.wall_ms() });
      held_bytes += mail.length;
      try {
        const whole = Buffer.concat([Buffer.from(trace), mail]);
        const refused = await relay.send({ from: bounces, to: [...targets] }, whole);
        if (refused > 0) log.warn({ ...fields, refused }, 'the relay refused some recipients of a mail');
        else log.info(fields, 'a mail was passed on');
      } catch (err) {
        log.warn({ ...fields, err }, 'a mail was not passed on');
        throw err;
      } finally {
        held_bytes -= mail.length;
      }
    },
  };
}

function lengthOf(chunks: readonly Buffer[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}
