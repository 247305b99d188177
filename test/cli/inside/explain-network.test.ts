// `remora explain-network` where nothing is restricted, and what it reads as a destination.
import { expect, it, test } from 'vitest';
import { readHost } from '../../../src/cli/inside/network/read-host.ts';
import { openInsideMachine } from '../../support/inside-machine.ts';
import { runHere } from '../../support/run-here.ts';

it('without a policy everything is allowed and nothing was refused, in the machine and through a platform', async () => {
  const { within, elsewhere, beside } = await openInsideMachine();
  for (const env of [within, elsewhere, beside]) {
    const explain = (...words: string[]) => runHere(['explain-network', ...words], env);
    const out = 'decision  allow\nbecause   nothing is restricted';
    expect(await explain('example.com:443')).toEqual({ code: 0, out, err: '' });
    expect(await explain('--refused')).toEqual({ code: 0, out: 'nothing was refused lately', err: '' });
    expect((await explain('--refused', '--json')).out).toBe('{"refused":[]}');
  }
  for (const [words, message] of [
    [[], 'give HOST[:PORT], or --refused'],
    [['example.com', '--refused'], 'give HOST[:PORT], or --refused'],
    [['https://example.com/'], 'is not HOST[:PORT]'],
  ] as const) {
    const wrong = await runHere(['explain-network', ...words], within);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining(message)]);
  }
});

test.each([
  ['example.com', { host: 'example.com' }],
  ['example.com:443', { host: 'example.com', port: 443 }],
  ['bücher.example.:80', { host: 'bücher.example.', port: 80 }],
  ['192.0.2.1:65535', { host: '192.0.2.1', port: 65_535 }],
  ['2001:db8::1', { host: '2001:db8::1' }],
  ['[2001:db8::1]', { host: '2001:db8::1' }],
  ['[2001:db8::1]:443', { host: '2001:db8::1', port: 443 }],
  ['example.com:0', undefined],
  ['example.com:65536', undefined],
  ['example.com:https', undefined],
  ['example.com/path', undefined],
  ['https://example.com', undefined],
  ['user@example.com', undefined],
  ['[example.com]:443', undefined],
  ['2001:db8::1:x', undefined],
  ['', undefined],
])('%j is the destination %j', (text, host) => {
  expect(readHost(text)).toEqual(host);
});
