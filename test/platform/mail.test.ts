// Mail to aliases: taken from real clients, passed on through a real server to the owners, and to nobody else.
import { execFile, spawnSync } from 'node:child_process';
import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { randomHex } from '../../src/core/urandom.ts';
import { createKeyedRates } from '../../src/platform/mail/keyed-rates.ts';
import { defaultMailLimits, type MailLimits } from '../../src/platform/mail/mail-options.ts';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { findLongestTurn_ms } from '../support/longest-turn.ts';
import { loudly } from '../support/loudly.ts';
import { openTestRelay, type RelayLogin, type TestRelay } from '../support/mail-relay.ts';
import { openTestPlatform, type TestPlatform } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';

const DOMAIN = 'users.example.com';
const many = { burst: 1_000_000, perSecond: 1_000_000 };
const generous: MailLimits = { ...defaultMailLimits, ofSender: many, toAlias: many, unknown: many };

interface MailPlatform {
  readonly platform: TestPlatform;
  readonly relay: TestRelay;
  readonly port: number;
  /** Resolves with the alias. */
  createUser(email: string, role?: 'admin' | 'member'): Promise<string>;
  operate(...words: string[]): Promise<string>;
  send(mail: SentMail): Promise<Sent>;
}

interface SentMail {
  readonly to: string | readonly string[];
  readonly from?: string;
  readonly raw?: string;
}

/** The reply of the platform. */
interface Sent {
  readonly code: number;
  readonly reply: string;
}

const MAIL =
  'From: Provider <noreply@provider.example>\r\nReply-To: help@provider.example\r\nSubject: A bill\r\n\r\nHello\r\n.\r\n..dots\r\n';

interface RelaySettings {
  readonly login?: RelayLogin;
  readonly startTls?: boolean;
  /** What stands behind its address. */
  readonly query?: string;
}

async function openMailPlatform(
  limits = generous,
  { login, startTls = false, query = '' }: RelaySettings = {},
): Promise<MailPlatform> {
  const relay = await openTestRelay(login, { startTls });
  const transfer = { listen: { host: '127.0.0.1', port: 0 }, relay: new Secret(relay.url + query), limits };
  const platform = await openTestPlatform({ mail: { domain: DOMAIN, transfer } });
  const port = platform.mailPort ?? 0;
  async function operate(...words: string[]): Promise<string> {
    const { code, out, err } = await runHere(['platform', ...words, '--dir', platform.dir]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    return out;
  }
  return {
    platform,
    relay,
    port,
    operate,
    async createUser(email, role = 'member') {
      const made = await platform.admin.createUser({ email, name: 'Ada', organization: 'acme', role });
      return made.user.email_alias;
    },
    send: (mail) => sendMail(port, mail),
  };
}

async function sendMail(port: number, { to, from = 'noreply@provider.example', raw = MAIL }: SentMail): Promise<Sent> {
  const client = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
  try {
    const info = await client.sendMail({ envelope: { from, to: typeof to === 'string' ? to : [...to] }, raw });
    return { code: Number(info.response.slice(0, 3)), reply: info.response };
  } catch (error) {
    const { responseCode = 0, response = String(error) } = error as { responseCode?: number; response?: string };
    return { code: responseCode, reply: response };
  } finally {
    client.close();
  }
}

const opened = openOnce(() => openMailPlatform());
let shared: MailPlatform;
beforeAll(() => {
  shared = opened();
});
afterEach(() => {
  shared.relay.mails.length = 0;
  shared.relay.refusals.clear();
});

describe('mail to an alias', () => {
  test('reaches its user unchanged below the trace, and neither envelope nor reply shows an address to the other side', async () => {
    const alias = await shared.createUser('Ada@home.example');
    expect(alias).toMatch(/^u-[0-9a-f]{20}@users\.example\.com$/);
    expect(await shared.send({ to: alias.toUpperCase() })).toMatchObject({ code: 250 });
    const [mail] = shared.relay.mails;
    expect(mail).toMatchObject({ from: `bounces@${DOMAIN}`, to: ['Ada@home.example'] });
    const at = mail?.text.indexOf('From: Provider') ?? 0;
    expect(mail?.text.slice(0, at)).toMatch(
      /^Received: from [\w.-]+ \(\[[\d.:a-f]+\]\)\r\n\tby users\.example\.com with ESMTP id \w+; .*\+0000\r\nX-Remora-Alias: users\.example\.com\r\n$/,
    );
    expect(mail?.text.slice(at)).toBe(MAIL);
    expect(JSON.stringify(shared.platform.log)).not.toContain('home.example');
  });

  test('of an organization reaches its admins', async () => {
    for (const [email, role] of [
      ['admin1@home.example', 'admin'],
      ['admin2@home.example', 'admin'],
      ['member@home.example', 'member'],
    ] as const) {
      await shared.createUser(email, role);
    }
    const { organization_alias } = JSON.parse(await shared.operate('user', 'list', '--organization', 'acme', '--json'));
    expect(organization_alias).toMatch(/^o-[0-9a-f]{20}@users\.example\.com$/);
    expect((await shared.send({ to: organization_alias })).code).toBe(250);
    expect(shared.relay.mails[0]?.to.toSorted()).toEqual(['admin1@home.example', 'admin2@home.example']);
    for (const email of ['admin1@home.example', 'admin2@home.example']) {
      await shared.operate('user', 'set-role', email, '--organization', 'acme', '--role', 'member');
    }
    expect((await shared.send({ to: organization_alias })).code).toBe(550);
  });

  test('ends with the last membership, and with the user', async () => {
    const removed = await shared.createUser('removed@home.example');
    const deleted = await shared.createUser('deleted@home.example');
    await shared.operate('user', 'remove', 'removed@home.example', '--organization', 'acme');
    await shared.operate('user', 'delete', 'deleted@home.example');
    for (const to of [removed, deleted]) expect(await shared.send({ to })).toMatchObject({ code: 550 });
    await shared.operate('user', 'set-role', 'removed@home.example', '--organization', 'acme');
    expect((await shared.send({ to: removed })).code).toBe(250);
  });

  test('that has 8-bit text, long lines and bare line breaks is passed on, and smuggles no second mail', async () => {
    const alias = await shared.createUser('smuggle@home.example');
    const inner =
      '\n.\nMAIL FROM:<evil@evil.example>\nRCPT TO:<victim@victim.example>\nDATA\nSubject: smuggled\n\nx\n.\n';
    const raw = `Subject: one\r\n\r\n${'é'.repeat(400)}\r\n${'x'.repeat(5_000)}\r\n${inner}after\r\n`;
    expect((await shared.send({ to: alias, raw })).code).toBe(250);
    expect(shared.relay.mails).toHaveLength(1);
    expect(shared.relay.mails[0]?.to).toEqual(['smuggle@home.example']);
    expect(shared.relay.mails[0]?.text).toContain('after');
  });
});

test.each([
  ['breaks of lines alone', `Subject: x\r\n\r\n${'\n'.repeat(1_500_000)}`],
  ['a header of short lines', `${'received:\n'.repeat(26_000)}\n`],
])('a mail of %s does not hold the platform', async (_, mail) => {
  const alias = await shared.createUser(`${randomHex(4)}@home.example`);
  const lines = ['EHLO x', 'MAIL FROM:<a@provider.example>', `RCPT TO:<${alias}>`, 'DATA', `${mail}\r\n.`];
  const longest_ms = await findLongestTurn_ms(100, async () => {
    const replies = await speak(shared.port, lines);
    expect(replies.at(-1)).toMatch(mail.startsWith('Subject') ? /^250 / : /^554 /);
  });
  expect(longest_ms).toBeLessThanOrEqual(100);
});

describe('it is no open relay', () => {
  test.each([
    'victim@victim.example',
    `nobody@${DOMAIN}`,
    `u-00000000000000000000@${DOMAIN}`,
    `victim%victim.example@${DOMAIN}`,
    `"victim@victim.example"@${DOMAIN}`,
    `victim@victim.example@${DOMAIN}`,
    `@${DOMAIN}:victim@victim.example`,
    `postmaster@${DOMAIN}`,
    'victim',
  ])('to %s', async (recipient) => {
    const lines = await speak(shared.port, [
      'EHLO x',
      'MAIL FROM:<a@provider.example>',
      `RCPT TO:<${recipient}>`,
      'DATA',
    ]);
    expect(lines[3]).toMatch(/^5\d\d /);
    expect(lines[4]).toMatch(/^503 /);
    expect(shared.relay.mails).toEqual([]);
  });

  test('not from a user either, and not with a name and a password', async () => {
    const alias = await shared.createUser('inside@home.example');
    const given = ['MAIL FROM:<inside@home.example>', 'RCPT TO:<victim@victim.example>'];
    const lines = await speak(shared.port, ['EHLO x', 'AUTH PLAIN AGEAYg==', ...given, `RCPT TO:<${alias}>`]);
    expect(lines.slice(2).map((line) => line.slice(0, 3))).toEqual(['500', '250', '550', '250']);
  });

  test('what cannot be delivered comes back here, and goes no farther', async () => {
    expect((await shared.send({ from: '', to: `bounces@${DOMAIN}` })).code).toBe(250);
    expect(shared.relay.mails).toEqual([]);
  });
});

test('a mail that went through here before, or through too many servers, is refused', async () => {
  const alias = await shared.createUser('loop@home.example');
  await shared.send({ to: alias });
  const again = shared.relay.mails[0]?.text ?? '';
  expect(again).toContain('X-Remora-Alias');
  expect(await shared.send({ to: alias, raw: again })).toMatchObject({
    code: 554,
    reply: expect.stringContaining('loop'),
  });
  const folded = MAIL.replace('Subject:', `x-remora-alias : ${DOMAIN}\r\nSubject:`);
  expect((await shared.send({ to: alias, raw: folded })).code).toBe(554);
  const received = 'Received: from a by b; Thu, 1 Jan 2026 00:00:00 +0000\r\n'.repeat(51);
  expect((await shared.send({ to: alias, raw: received + MAIL })).code).toBe(554);
  expect(
    (await shared.send({ to: alias, raw: MAIL.replace('Subject:', 'X-Remora-Alias: other.example\r\nSubject:') })).code,
  ).toBe(250);
  const body = `Subject: x\r\n\r\nX-Remora-Alias: ${DOMAIN}\r\n`;
  expect((await shared.send({ to: alias, raw: body })).code).toBe(250);
});

describe('what the relay says about a user stays here', () => {
  test.each([
    [550, 554],
    [450, 451],
  ])('%d becomes %d', async (theirs, ours) => {
    const email = `relay${theirs}@home.example`;
    const alias = await shared.createUser(email);
    shared.relay.refusals.set(email, theirs);
    const { code, reply } = await shared.send({ to: alias });
    expect(code).toBe(ours);
    expect(reply).not.toContain('home.example');
  });

  test('when some of several recipients are refused the mail is taken', async () => {
    const aliases = [await shared.createUser('one@home.example'), await shared.createUser('two@home.example')];
    shared.relay.refusals.set('two@home.example', 550);
    expect((await shared.send({ to: aliases })).code).toBe(250);
    expect(shared.relay.mails[0]?.to).toEqual(['one@home.example']);
    await eventually(() => shared.platform.log.some(({ refused }) => refused === 1));
  });
});

test('all mail together takes so much memory, and senders whose keys are old are forgotten', async () => {
  const small = await openMailPlatform({ ...generous, total_bytes: 100_000 });
  const alias = await small.createUser('total@home.example');
  const raw = `Subject: x\r\n\r\n${`${'x'.repeat(76)}\r\n`.repeat(2_000)}`;
  expect(await small.send({ to: alias, raw })).toMatchObject({ code: 451, reply: expect.stringContaining('4.3.1') });
  expect((await small.send({ to: alias })).code).toBe(250);

  const rates = createKeyedRates({ burst: 1, perSecond: 0 }, () => 0);
  expect([rates.take('first'), rates.take('first')]).toEqual([true, false]);
  for (let count = 0; count < 9_999; count += 1) rates.take(`other ${count}`);
  expect(rates.has('first')).toBe(false);
  for (let count = 0; count < 10_000; count += 1) rates.take(`more ${count}`);
  expect(rates.has('first')).toBe(true);
});

test('a relay that is away makes the sender try again', async () => {
  const { createUser, send, relay } = await openMailPlatform();
  const alias = await createUser('away@home.example');
  await relay.close();
  expect(await send({ to: alias })).toMatchObject({ code: 451 });
});

test('a relay that asks for a name and a password gets them, and the log does not', async () => {
  const login = { user: 'platform', pass: 'p@ss/word-0123456789' };
  const { createUser, send, relay, platform } = await openMailPlatform(generous, { login });
  expect((await send({ to: await createUser('login@home.example') })).code).toBe(250);
  expect(relay.mails).toHaveLength(1);
  expect(JSON.stringify(platform.log)).not.toMatch(/word-0123456789|home\.example/);
});

describe('TLS to the relay', () => {
  test('is spoken where it is offered, whatever the certificate, and not asked for elsewhere', async () => {
    const { createUser, send, relay } = await openMailPlatform(generous, { startTls: true });
    expect((await send({ to: await createUser('tls@home.example') })).code).toBe(250);
    expect(relay.mails.map(({ isSecure }) => isSecure)).toEqual([true]);
    await shared.send({ to: await shared.createUser('plain@home.example') });
    expect(shared.relay.mails.at(-1)?.isSecure).toBe(false);
  });

  test.each([
    ['is not offered', false],
    ['has a certificate that nobody has signed', true],
  ])('is demanded by the operator: nothing is sent where it %s', async (_name, startTls) => {
    const { createUser, send, relay } = await openMailPlatform(generous, { startTls, query: '?starttls=required' });
    expect((await send({ to: await createUser('demanded@home.example') })).code).toBe(451);
    expect(relay.mails).toEqual([]);
  });
});

test('an alias keeps its domain when that of the platform changes, and goes on working; the log tells of it', async () => {
  const first = await openMailPlatform();
  const { dir } = first.platform;
  const before = await first.createUser('before@home.example');
  await first.platform[Symbol.asyncDispose]();
  const transfer = { listen: { host: '127.0.0.1', port: 0 }, relay: new Secret(first.relay.url), limits: generous };
  const platform = await openTestPlatform({ dir, mail: { domain: 'later.example.com', transfer } });
  const newcomer = { email: 'after@home.example', name: 'Bea', organization: 'acme', role: 'member' } as const;
  const after = (await platform.admin.createUser(newcomer)).user.email_alias;
  expect([before, after].map((alias) => alias.split('@')[1])).toEqual([DOMAIN, 'later.example.com']);
  for (const to of [before, after]) expect((await sendMail(platform.mailPort ?? 0, { to })).code).toBe(250);
  expect(first.relay.mails.map(({ to }) => to)).toEqual([['before@home.example'], ['after@home.example']]);
  expect(platform.log).toContainEqual(expect.objectContaining({ domain: 'later.example.com', aliases: 1 }));
});

describe('limits', () => {
  let limited: MailPlatform;
  beforeEach(async () => {
    const few = { burst: 2, perSecond: 0.001 };
    limited = await openMailPlatform({
      ...generous,
      message_bytes: 20_000,
      total_bytes: 30_000,
      recipients: 2,
      ofSender: few,
      toAlias: { burst: 3, perSecond: 0.001 },
      unknown: few,
    });
  });

  test('of size, of a sender, of an alias, of recipients, and of wrong recipients', async () => {
    const { createUser, send, port, relay } = limited;
    const alias = await createUser('limits@home.example');
    const big = `Subject: big\r\n\r\n${'x'.repeat(76)}\r\n`.repeat(400);
    expect((await send({ from: 'a@p.example', to: alias, raw: big })).code).toBe(552);
    const declared = await speak(port, ['EHLO x', 'MAIL FROM:<b@p.example> SIZE=20001']);
    expect(declared[2]).toMatch(/^552 /);
    expect((await send({ from: 'c@p.example', to: alias })).code).toBe(250);
    expect((await send({ from: 'C@p.example', to: alias })).code).toBe(250);
    expect((await send({ from: 'c@p.example', to: alias })).code).toBe(450);
    expect((await send({ from: 'd@p.example', to: alias })).code).toBe(450);
    const other = await createUser('other@home.example');
    expect((await send({ from: 'd@p.example', to: other })).code).toBe(250);
    const wrong = await speak(port, [
      ...[
        'EHLO x',
        'MAIL FROM:<e@p.example>',
        'RCPT TO:<x1@x.example>',
        'RCPT TO:<x2@x.example>',
        `RCPT TO:<${other}>`,
      ],
    ]);
    expect(wrong.slice(3).map((line) => line.slice(0, 3))).toEqual(['550', '550', '450']);
    expect(relay.mails).toHaveLength(3);
  });
});

test('the settings are checked before anything listens, and the password of the relay is in no message', async () => {
  const listen = { host: '127.0.0.1', port: 0 };
  const open = (domain: string, relay: string) =>
    openTestPlatform({ mail: { domain, transfer: { listen, relay: new Secret(relay) } } });
  await expect(open('no domain', 'smtp://127.0.0.1')).rejects.toMatchObject({ code: 'not_configured' });
  const wrong = ['http://x', 'smtp://a:secret-word@', 'smtp://h/path', 'smtp://a:%zz@h', 'secret-word'];
  for (const relay of [...wrong, 'smtp://h?starttls=maybe', 'smtps://h?starttls=required']) {
    const error = await open(DOMAIN, relay).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'not_configured' });
    expect(String(error)).not.toContain('secret-word');
  }
  const start = (...words: string[]) => runHere(['platform', '--dir', '/nonexistent/x', ...words]);
  for (const words of [
    ['--mail-listen', '127.0.0.1:0'],
    ['--mail-domain', DOMAIN, '--mail-listen', '127.0.0.1:0'],
    ['--mail-domain', DOMAIN, '--mail-relay', 'smtp://h'],
    ['--mail-domain', DOMAIN, '--mail-relay', 'smtp://h', '--mail-listen', 'nowhere'],
  ]) {
    expect(await start(...words), words.join(' ')).toMatchObject({ code: 2, err: expect.stringContaining('--mail-') });
  }
});

function runSwaks(words: readonly string[]): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    execFile('swaks', words, (error, out) => resolve({ code: Number(error?.code ?? 0), out }));
  });
}

const hasNoSwaks = loudly(
  spawnSync('swaks', ['--version']).error !== undefined,
  'swaks is not installed (Debian: apt-get install swaks); no mail is sent with it',
);

test.skipIf(hasNoSwaks)('swaks delivers to an alias and to nobody else', async () => {
  const alias = await shared.createUser('swaks@home.example');
  const swaks = (to: string) =>
    runSwaks([
      '--server',
      '127.0.0.1',
      '--port',
      String(shared.port),
      '--from',
      'noreply@provider.example',
      '--to',
      to,
    ]);
  expect(await swaks(alias)).toMatchObject({ code: 0, out: expect.stringContaining('250 2.0.0 passed on') });
  expect(shared.relay.mails[0]?.to).toEqual(['swaks@home.example']);
  expect(await swaks('victim@victim.example')).toMatchObject({ code: 24, out: expect.stringContaining('550 5.1.1') });
  expect(shared.relay.mails).toHaveLength(1);
});

/** Sends each line after the reply to the one before. Resolves with the first lines of the replies, that of the greeting first. */
function speak(port: number, lines: readonly string[]): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const replies: string[] = [];
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setTimeout(120_000, () => socket.destroy(new Error(`no reply after ${replies.join(' | ')}`)));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += String(chunk);
      if (!/^\d{3} [^\n]*\n$/m.test(text)) return;
      replies.push(text.split('\r\n')[0] ?? '');
      text = '';
      const next = lines[replies.length - 1];
      if (next !== undefined) return void socket.write(`${next}\r\n`);
      socket.destroy();
      resolve(replies);
    });
  });
}
