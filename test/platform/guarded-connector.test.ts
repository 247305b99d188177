// Base URLs that users give: where their names lead is judged at the time of each connection.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { type Resolve, toGuardedLookup } from '../../src/platform/upstream/guarded-connector.ts';
import { isPublicAddress } from '../../src/platform/upstream/public-address.ts';
import { openTestPlatform } from '../support/open-platform.ts';

test.each([
  ['8.8.8.8', true],
  ['93.184.215.14', true],
  ['2606:4700:4700::1111', true],
  ['127.0.0.1', false],
  ['127.9.9.9', false],
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['172.16.0.1', false],
  ['192.168.1.1', false],
  ['169.254.169.254', false],
  ['100.64.0.1', false],
  ['198.18.0.1', false],
  ['192.0.2.1', false],
  ['224.0.0.1', false],
  ['240.0.0.1', false],
  ['255.255.255.255', false],
  ['::1', false],
  ['::', false],
  ['::ffff:127.0.0.1', false],
  ['::ffff:8.8.8.8', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b::808:808', true],
  ['64:ff9b:1::808:808', false],
  ['2002:7f00:1::', false],
  ['2001:0:7f00:1::', false],
  ['fe80::1', false],
  ['fdaa::1', false],
  ['fd00:ec2::254', false],
  ['ff02::1', false],
  ['168.63.129.16', false],
  ['192.88.99.1', false],
  ['192.0.0.192', false],
  ['100.100.100.200', false],
  ['::7f00:1', false],
  ['::a9fe:a9fe', false],
  ['4000::1', false],
  ['1fff::1', false],
  ['5f00::1', false],
  ['3fff::1', false],
  ['2001:db8::1', false],
  ['2606:4700:4700::1111%1', false],
  ['2a00:1450:4001:81b::200e', true],
  ['example.com', false],
  ['', false],
])('%s is public: %s', (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

function answer(...addresses: string[]): Resolve {
  return (_hostname, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
}

describe('a guarded look-up', () => {
  const ask = (resolve: Resolve, all: boolean) =>
    new Promise<unknown>((done, fail) => {
      toGuardedLookup(resolve)('api.example.com', { all }, (error, address) =>
        error === null ? done(address) : fail(error),
      );
    });

  test('hands on exactly the addresses that it judged', async () => {
    expect(await ask(answer('8.8.8.8', '2606:4700::1'), true)).toEqual([
      { address: '8.8.8.8', family: 4 },
      { address: '2606:4700::1', family: 6 },
    ]);
    expect(await ask(answer('8.8.8.8'), false)).toBe('8.8.8.8');
  });

  test.each([[['127.0.0.1']], [['8.8.8.8', '10.0.0.1']], [[]]])('refuses %j', async (addresses) => {
    await expect(ask(answer(...addresses), true)).rejects.toMatchObject({ code: 'upstream_refused' });
    await expect(ask(answer(...addresses), false)).rejects.toMatchObject({ code: 'upstream_refused' });
  });
});

test('a connector whose name leads to this machine, or comes to, reaches nothing on it', async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const names: string[] = [];
  const turns = [['127.0.0.1'], ['::ffff:127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['169.254.169.254']];
  const platform = await openTestPlatform({
    resolve(hostname, done) {
      names.push(hostname);
      answer(...(turns[names.length - 1] ?? ['127.0.0.1']))(hostname, done);
    },
  });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  await platform.admin.createConnector({
    organization: 'acme',
    provider: 'custom_api',
    id: 'own',
    api_key: new Secret('k'),
    base_api_url: `https://api.example.com:${port}`,
    access_policy: { allow_all: true },
  });
  for (const _ of turns) {
    const refused = await platform.call({ path: '/v1/gateway/custom_api/own/x', token });
    expect([refused.status, refused.json.error]).toEqual([502, 'upstream_refused']);
    expect(refused.text).not.toContain('127.0.0.1');
  }
  expect(new Set(names)).toEqual(new Set(['api.example.com']));
  expect(names.length).toBeGreaterThanOrEqual(turns.length);
  expect(connections).toBe(0);
});
