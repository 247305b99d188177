import { expect, it } from 'vitest';
import { parseClosedPort } from '../../../src/core/ports/closed-port.ts';

it.each([
  ['UNCONN 0      0      127.0.0.1:50089 0.0.0.0:*', 50_089],
  ['UNCONN 0      0              *:40937       *:*', 40_937],
  ['UNCONN 0      0          [::1]:3000     [::]:*   ', 3_000],
  ['UNCONN 0      3   127.0.0.53%lo:53    0.0.0.0:*', 53],
  ['UNCONN 0      0      127.0.0.1:50089 127.0.0.1:34084', undefined],
  ['State  Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess', undefined],
  ['', undefined],
])('%j is about %s', (line, port) => {
  expect(parseClosedPort(line)).toBe(port);
});
