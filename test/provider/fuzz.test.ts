// Random requests at a provider, signed and not, whole and cut off: each gets an answer of the 2xx, 3xx or 4xx kind or a closed
// connection, never a 500, and none ends the server. REMORA_FUZZ_SEED draws others.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFailed } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { signContent } from '../../src/core/signature.ts';
import { randomHex } from '../../src/core/urandom.ts';
import { ProviderError } from '../../src/provider/index.ts';
import { createDice, type Dice } from '../support/dice.ts';
import { KIT_SECRET, openKitProvider, provisioning } from '../support/kit-provider.ts';

const ROUNDS = 800;
const AT_ONCE = 25;

function toValue(dice: Dice, depth = 0): unknown {
  const kinds = ['text', 'number', 'null', 'list', 'object', 'long', 'odd'] as const;
  switch (dice.pick(kinds)) {
    case 'text':
      return dice.pick(['', 'a', '../..', '%00', 'e1', '\u0000', '__proto__']);
    case 'number':
      return dice.pick([0, -1, 1e308, 1.5, 99_999_999_999]);
    case 'null':
      return null;
    case 'list':
      return depth > 3 ? [] : Array.from({ length: dice.below(4) }, () => toValue(dice, depth + 1));
    case 'object':
      return depth > 3 ? {} : { [dice.pick(['__proto__', 'id', 'constructor'])]: toValue(dice, depth + 1) };
    case 'long':
      return 'x'.repeat(dice.below(70_000));
    case 'odd':
      return dice.pick(['\ud800', '🐟', true, '1800000000']);
  }
}

function toBody(dice: Dice, baseUrl: string, path: string): Buffer {
  const timestamp = Math.floor(Date.now() / 1_000);
  const fields: Record<string, unknown> = {
    ...provisioning(`e${dice.below(20)}`),
    ...{ url: baseUrl + path, nonce: randomHex(8), timestamp },
    ...{ machine_id: 'm1', status: 'started', data: {} },
  };
  const names = Object.keys(fields);
  for (let change = dice.below(3); change > 0; change -= 1) {
    const name = names[dice.below(names.length)] ?? 'id';
    if (dice.chance(30)) delete fields[name];
    else fields[name] = toValue(dice);
  }
  if (dice.chance(5)) return Buffer.from('[['.repeat(20_000));
  const text = Buffer.from(JSON.stringify(fields));
  if (dice.chance(10) && text.length > 0) text[dice.below(text.length)] = dice.below(256);
  return text;
}

interface FuzzedBytes {
  readonly bytes: Buffer;
  /** Whether more of a body is announced than comes. */
  readonly isShort: boolean;
}

function toRequest(dice: Dice, baseUrl: string): FuzzedBytes {
  const method = dice.pick(['GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'HEAD']);
  const id = dice.pick(['e1', 'events', '%ff', '%2e%2e', 'a%2fb', 'x'.repeat(600), '%F0%9F%90%9F', '.', '%']);
  const sub = dice.pick(['', '/sso', '/sso/', '//', '/%00']);
  const path = dice.pick([
    `/extensions/${id}${sub}`,
    '/extensions',
    '/extensions/kept',
    '/extensions/kept/sso',
    '/extensions/events',
    '/billing',
    '/oauth/callback',
    '/x',
    '',
  ]);
  const body = method === 'GET' || method === 'DELETE' ? Buffer.alloc(0) : toBody(dice, baseUrl, path);
  const signed = new URLSearchParams({
    url: baseUrl + path,
    nonce: randomHex(8),
    timestamp: String(Math.floor(Date.now() / 1_000)),
    from: dice.pick(['2026-01-01T00:00:00Z', '', 'x']),
    to: '2026-01-02T00:00:00Z',
    state: String(toValue(dice)).slice(0, 200),
    ...(dice.chance(20) ? { [dice.pick(['url', 'nonce', 'timestamp'])]: String(toValue(dice)).slice(0, 500) } : {}),
  }).toString();
  const query = dice.chance(70) ? signed : dice.pick(['', '%', '&&==', '?'.repeat(50), 'state=%ff&code=%00']);
  const content = method === 'GET' || method === 'DELETE' ? query : body;
  const signature = dice.pick([
    signContent(KIT_SECRET, content),
    signContent(KIT_SECRET, content),
    signContent(KIT_SECRET, content),
    signContent(new Secret('x'), content),
    'sha256=',
    'é',
  ]);
  const cookie = `remora_sso_${randomHex(8)}=${dice.pick(['a.b', '.', '=', 'x'.repeat(4_000)])}`;
  const { pathname, host } = new URL(baseUrl);
  const length = dice.chance(5) ? body.length + 10 : body.length;
  const head = [
    `${method} ${pathname}${path}?${query} HTTP/1.1`,
    `host: ${host}`,
    ...(dice.chance(90) ? [`x-signature: ${signature}`] : []),
    ...(dice.chance(30) ? [`cookie: ${cookie}`] : []),
    ...(dice.chance(50) ? ['ce-id: %', 'ce-source: /x', 'ce-type: io.remora.machine.x', 'ce-specversion: 1.0'] : []),
    ...(dice.chance(50) ? ['ce-time: 2026-01-01T00:00:00Z'] : []),
    `content-length: ${length}`,
    'connection: close',
  ];
  const bytes = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
  return { bytes, isShort: length > body.length };
}

it('are answered, each one', async () => {
  const seed = process.env.REMORA_FUZZ_SEED ?? '5eed';
  onTestFailed(() => void process.stderr.write(`\nREMORA_FUZZ_SEED=${seed}\n`));
  const dice = createDice(seed);
  const made = new Map<string, string>();
  const { baseUrl, errors, call } = await openKitProvider({
    provision({ id, organization_id }) {
      made.set(id, organization_id);
      return { id, config: {} };
    },
    read: (id) => (id === 'kept' || made.has(id) ? { id, organization_id: 'org_1' } : undefined),
    remove(id) {
      if (id === 'kept') throw new ProviderError('invalid_state', 'it stays');
      made.delete(id);
    },
    signOn: () => undefined,
    signOnSettings: {
      platformAuthUrl: 'http://127.0.0.1:9',
      clientId: 'c',
      clientSecret: () => new Secret('s'.repeat(20)),
    },
    machineEvent: () => undefined,
    costs: () => [],
  });
  const { hostname, port } = new URL(baseUrl);
  const statuses = new Map<number, number>();
  async function ask({ bytes: request, isShort }: FuzzedBytes): Promise<void> {
    const socket = connect({ port: Number(port), host: hostname });
    const cut = dice.chance(5) ? dice.below(request.length) : undefined;
    let text = '';
    socket.on('error', () => undefined).on('data', (data: Buffer) => (text += data.toString('latin1')));
    // What is announced and does not come is waited for: the caller hangs up.
    const hangUp = isShort || cut !== undefined ? setTimeout(() => socket.destroy(), 150) : undefined;
    if (cut === undefined) socket.write(request);
    else socket.end(request.subarray(0, cut));
    await once(socket, 'close');
    clearTimeout(hangUp);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    expect(status < 500, `${request.subarray(0, 400).toString('latin1')}\n→ ${text.slice(0, 400)}`).toBe(true);
  }
  for (let round = 0; round < ROUNDS; round += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => ask(toRequest(dice, baseUrl))));
  }
  expect(errors).toEqual([]);
  for (const wanted of [200, 204, 302, 400, 401, 404, 405]) expect([...statuses.keys()]).toContain(wanted);
  expect((await call({ method: 'POST', path: '/extensions', body: provisioning('last') })).status).toBe(200);
});
