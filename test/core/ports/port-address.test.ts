import { expect, it } from 'vitest';
import { type PortAddressSettings, toPortAddress } from '../../../src/core/ports/port-address.ts';

const open = {
  port: 3000,
  pid: 1,
  start_ticks: undefined,
  command: 'node',
  uid: 0,
  addresses: ['::', '127.0.0.1'],
  sockets: [1],
};

const cases: [settings: PortAddressSettings, address: string][] = [
  [{}, 'http://localhost:3000'],
  [{ sprite: 'dev-1' }, 'http://dev-1:3000'],
  [{ sprite: 'dev-1', spriteUrl: 'https://dev-1.example.test' }, 'https://dev-1.example.test:3000'],
  [{ sprite: 'dev-1', spriteUrl: 'http://dev-1.example.test:8080/path?x=1' }, 'http://dev-1.example.test:3000'],
  [{ sprite: 'dev-1', spriteUrl: 'http://[::1]:8080' }, 'http://[::1]:3000'],
  [{ sprite: 'dev-1', spriteUrl: 'not a url' }, 'http://dev-1:3000'],
  [{ portAddress: 'https://{sprite}-{port}.example.test', sprite: 'dev-1' }, 'https://dev-1-3000.example.test'],
  [{ portAddress: 'https://p{port}.example.test/{port}' }, 'https://p3000.example.test/3000'],
  [{ portAddress: 'bind', sprite: 'dev-1', spriteUrl: 'https://dev-1.example.test' }, '::'],
];

it.each(cases)('%o gives %s', (settings, address) => {
  expect(toPortAddress(open, settings)).toBe(address);
});
