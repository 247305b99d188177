// A secret does not get into anything that is printed, copied or logged.

import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { serialize } from 'node:v8';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { RemoraError } from '../../src/core/remora-error.ts';
import { Secret } from '../../src/core/secret.ts';

const TEXT = 'hunter2-very-secret';
const secret = new Secret(TEXT);

function collect(): { readonly stream: Writable; readonly text: () => string } {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString('utf8');
      done();
    },
  });
  return { stream, text: () => text };
}

function logged(write: (log: pino.Logger) => void): string {
  const { stream, text } = collect();
  write(pino({ level: 'trace' }, stream));
  return text();
}

function printed(write: (console: Console) => void): string {
  const { stream, text } = collect();
  write(new Console({ stdout: stream, stderr: stream }));
  return text();
}

function thrown(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    return inspect(error, { depth: 9 });
  }
  throw new Error('nothing was thrown');
}

const nested = { config: { token: secret, list: [secret], map: new Map([['token', secret]]) } };

describe('a secret', () => {
  test('is given back by reveal only', () => {
    expect(secret.reveal()).toBe(TEXT);
    expect(Reflect.ownKeys(secret)).toEqual([]);
  });

  test.each<[string, () => string]>([
    ['a template', () => `${secret}`],
    ['an addition', () => 'x'.concat(String(secret))],
    ['valueOf', () => String(secret.valueOf())],
    ['JSON', () => JSON.stringify(secret)],
    ['nested JSON', () => JSON.stringify(nested)],
    ['a JSON key', () => JSON.stringify({ [String(secret)]: 1 })],
    ['inspect', () => inspect(secret)],
    ['nested inspect', () => inspect(nested, { depth: 9 })],
    [
      'inspect of everything hidden',
      () => inspect(nested, { depth: 9, showHidden: true, customInspect: false, getters: true }),
    ],
    ['inspect of a proxy', () => inspect(new Proxy(secret, {}), { showProxy: true })],
    ['format', () => format('%s %o %O %j %d', secret, secret, secret, secret, secret)],
    ['console.log', () => printed((console) => console.log(secret, nested))],
    ['console.dir', () => printed((console) => console.dir(nested, { depth: 9, showHidden: true }))],
    ['console.table', () => printed((console) => console.table([nested.config]))],
    ['pino fields', () => logged((log) => log.info({ secret, nested }, 'x'))],
    ['pino arguments', () => logged((log) => log.info('%s %o %j', secret, secret, nested))],
    ['pino children', () => logged((log) => log.child({ secret }).info('x'))],
    [
      'pino errors',
      () => logged((log) => log.error({ err: new RemoraError('internal', 'm', { cause: secret, details: secret }) })),
    ],
    ['structuredClone', () => inspect(structuredClone({ secret }), { showHidden: true, depth: 9 })],
    ['v8.serialize', () => serialize(secret).toString('latin1')],
    ['entries', () => inspect([Object.entries(secret), { ...secret }])],
    ['an error message', () => inspect(new Error(`bad token ${secret}`, { cause: secret }))],
    ['a type error', () => thrown(() => Reflect.apply(Reflect.get(secret, 'reveal'), {}, []))],
    ['a header of fetch', () => thrown(() => new Headers([['x', `x\n${secret}`]]))],
    ['a URL', () => new URL(`http://x/?token=${secret}`).href],
    ['a buffer', () => Buffer.from(`${secret}`).toString('latin1')],
  ])('does not show in %s', (_name, show) => {
    const text = show();
    expect(text).not.toContain(TEXT);
    expect(text).not.toContain('hunter2');
  });
});
