// Which names the proxy serves: exact ones, and no others.
import { expect, test } from 'vitest';
import { parseHost, toHostName } from '../../../src/platform/proxy/parse-host.ts';
import { createProxyAddresses } from '../../../src/platform/proxy/proxy-addresses.ts';
import { sharesSite } from '../../../src/platform/proxy/site.ts';

const read = (header: string, domain = 'localhost') => {
  const name = toHostName(header);
  return name === undefined ? undefined : parseHost(name, domain);
};
const sprite = (port?: number) => ({ type: 'sprite', organization: 'acme', sprite: 'dev-1', port });

test.each([
  ['dev-1.acme.localhost', sprite()],
  ['DEV-1.Acme.LOCALHOST.:80', sprite()],
  ['8080--dev-1.acme.localhost:4184', sprite(8080)],
  ['65535--dev-1.acme.localhost', sprite(65535)],
  ['shop.apps.localhost', { type: 'app', app: 'shop' }],
  ['65536--dev-1.acme.localhost', undefined],
  ['080--dev-1.acme.localhost', undefined],
  ['0--dev-1.acme.localhost', undefined],
  ['1--2--dev-1.acme.localhost', undefined],
  ['--dev-1.acme.localhost', undefined],
  ['dev-1.acme.localhost.evil.test', undefined],
  ['dev-1.acmelocalhost', undefined],
  ['acme.localhost', undefined],
  ['localhost', undefined],
  ['a.dev-1.acme.localhost', undefined],
  ['dev-1..localhost', undefined],
  ['.acme.localhost', undefined],
  ['dev_1.acme.localhost', undefined],
  ['dev-1.acme.localhost:', undefined],
  ['dev-1.acme.localhost:123456', undefined],
  ['user@dev-1.acme.localhost', undefined],
  ['dev-1.acme.localhost/x', undefined],
  ['dev-1.acme.localhost, b', undefined],
  ['127.0.0.1', undefined],
  ['[::1]:80', undefined],
  ['', undefined],
])('%s', (header, expected) => expect(read(header)).toEqual(expected));

test('a name whose port URLs would be too long for DNS has none', () => {
  const addresses = createProxyAddresses({ listen: { host: '127.0.0.1', port: 0 } });
  expect(addresses.toPortTemplate('acme', 'dev-1')).toBeUndefined();
  addresses.listening(4184);
  expect(addresses.urlTemplate).toBe('http://{sprite}.{organization}.localhost:4184');
  expect(addresses.toPortTemplate('acme', 'dev-1')).toBe('http://{port}--dev-1.acme.localhost:4184');
  expect(addresses.toPortTemplate('acme', 'a'.repeat(56))).not.toBeNull();
  expect(addresses.toPortTemplate('acme', 'a'.repeat(57))).toBeNull();
});

test('what stands before the proxy is in its URLs', () => {
  const origin = { protocol: 'https:', port: 443 } as const;
  const addresses = createProxyAddresses({ listen: { host: '127.0.0.1', port: 0 }, domain: 'sprites.example', origin });
  addresses.listening(4184);
  expect(addresses.urlTemplate).toBe('https://{sprite}.{organization}.sprites.example');
});

test.each([
  ['sprites.example.com', 'api.example.com', true],
  ['example.com', 'api.example.com', true],
  ['sprites.example.com', 'example.com', true],
  ['sprites.example.com', 'sprites.example.com', true],
  ['example.app', 'api.example.com', false],
  ['sprites.co.uk', 'api.co.uk', false],
  ['a.sprites.co.uk', 'api.sprites.co.uk', true],
  ['localhost', '127.0.0.1', false],
  ['localhost', '::1', false],
  ['localhost', 'localhost', false],
  ['localhost', 'api.acme.localhost', true],
])('%s and %s on one site: %s', (domain, host, expected) => expect(sharesSite(domain, host)).toBe(expected));
