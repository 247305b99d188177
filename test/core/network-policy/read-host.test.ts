// Where a connection is to lead, as people write it.
import { expect, test } from 'vitest';
import { readHost } from '../../../src/core/network-policy/read-host.ts';

test.each([
  ['A.example.', { type: 'name', name: 'a.example' }],
  ['localhost', { type: 'name', name: 'localhost' }],
  ['93.184.0.1', { type: 'address', address: '93.184.0.1' }],
  ['2001:db8::1', { type: 'address', address: '2001:db8::1' }],
  ['[2001:db8::1]', { type: 'address', address: '2001:db8::1' }],
])('%s is understood', (host, read) => {
  expect(readHost(host)).toEqual(read);
});

test.each(['a b', 'a..example', 'http://a.example', 'a.example:80', '127.1', '2130706433', '256.0.0.1', '[a.example]'])(
  '%s is neither a name nor an address',
  (host) => {
    expect(() => readHost(host)).toThrow('neither a name nor an address');
  },
);
