// Answers of HTTP/1.1 as upstreams send them, also the odd and the broken ones: what two clients make of each can be compared.
import type { Dice } from './dice.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const long = 'x'.repeat(17 * 1024);

/** Each is sent as a whole; then the upstream ends the connection where that is asked for. */
export const oddAnswers: readonly { readonly bytes: string; readonly ends?: true }[] = [
  // Plain ones.
  { bytes: `${OK}Content-Length: 2\r\n\r\nok` },
  { bytes: `${OK}content-length:2\r\n\r\nok` },
  { bytes: `${OK}Content-Length: 0\r\n\r\n` },
  { bytes: `${OK}Content-Length:\t2 \r\n\r\nok` },
  { bytes: `${OK}X-Empty:\r\nX-Wide:   a  b \t\r\nX-High: \xe9\xff\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: `\r\n\r\n${OK}Content-Length: 2\r\n\r\nok` },
  { bytes: 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 299 a  b\tc\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 599 \xe9\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 204 No Content\r\n\r\n' },
  { bytes: 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n' },
  { bytes: 'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\n\r\n` },
  { bytes: `${CHUNKED}1\r\no\r\n0001\r\nk\r\n000\r\nX-Sum: 1\r\nX-More: \r\n\r\n` },
  { bytes: `${CHUNKED}A;name=value;other="quoted"\r\n0123456789\r\n0;last\r\n\r\n` },
  { bytes: `${CHUNKED}${'1\r\na\r\n'.repeat(2_000)}0\r\n\r\n` },
  { bytes: `${OK}Transfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n` },
  { bytes: `${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: `${OK}Connection: Keep-Alive, Close\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: `${OK}Connection: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: `${OK}Keep-Alive: timeout=2\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: `${OK}Keep-Alive: timeout=5, max=9\r\nContent-Length: 2\r\n\r\nok` },
  { bytes: 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' },
  { bytes: 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 204 x\r\n\r\n' },
  { bytes: `${OK}Upgrade: websocket\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nok` },
  // Bodies that end with the connection.
  { bytes: `${OK}\r\nok`, ends: true },
  { bytes: `${OK}Connection: close\r\n\r\n`, ends: true },
  { bytes: 'HTTP/1.0 200 OK\r\n\r\nok', ends: true },
  { bytes: `${OK}Transfer-Encoding: gzip\r\n\r\nok`, ends: true },
  // Ends that come too early.
  { bytes: '', ends: true },
  { bytes: '\r\n', ends: true },
  { bytes: 'HTTP/1.1 2', ends: true },
  { bytes: `${OK}Content-Le`, ends: true },
  { bytes: `${OK}Content-Length: 3\r\n\r\nok`, ends: true },
  { bytes: `${OK}Connection: close\r\nContent-Length: 3\r\n\r\nok`, ends: true },
  { bytes: `${CHUNKED}2\r\nok`, ends: true },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\n`, ends: true },
  { bytes: `${OK}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n`, ends: true },
  { bytes: 'HTTP/1.1 103 Early Hints\r\n\r\n', ends: true },
  // More than one answer.
  { bytes: `${OK}Content-Length: 2\r\n\r\nok${OK}Content-Length: 4\r\n\r\nevil` },
  { bytes: `${OK}Content-Length: 2\r\n\r\nokmore` },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\n\r\nmore` },
  { bytes: `HTTP/1.1 204 x\r\n\r\n${OK}Content-Length: 4\r\n\r\nevil` },
  // Framing that can be read in two ways.
  { bytes: `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 2, 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: +2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: -2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 0x2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 2 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: \r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 99999999999999999999\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length : 2\r\n\r\nok`, ends: true },
  { bytes: `${OK} Content-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Content-Length: 2\r\n X: 1\r\n\r\nok`, ends: true },
  { bytes: `${OK}X: 1\r\n\tfolded\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X:\r\n folded\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}Transfer-Encoding: chunked, gzip\r\n\r\nok`, ends: true },
  { bytes: `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding: xchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding: chunked;x=1\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding:\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${OK}Transfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`, ends: true },
  // Heads that are none.
  { bytes: 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', ends: true },
  { bytes: `${OK}Content-Length: 2\n\r\nok`, ends: true },
  { bytes: `${OK}X: a\rb\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X: a\r\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X: a\0b\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X: a\x7f\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X\0: a\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}X y: a\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}: a\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}nocolon\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}\xe9: a\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: 'HTTP/1.1 20 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.1 2000 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.1 099 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.1 abc OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.1  200 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.1200 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/1.2 200 OK\r\n\r\n', ends: true },
  { bytes: 'HTTP/11 200 OK\r\n\r\n', ends: true },
  { bytes: 'http/1.1 200 OK\r\n\r\n', ends: true },
  { bytes: 'ICY 200 OK\r\n\r\n', ends: true },
  { bytes: 'GET / HTTP/1.1\r\n\r\n', ends: true },
  { bytes: '\x16\x03\x01\x02\0', ends: true },
  { bytes: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', ends: true },
  { bytes: 'HTTP/1.1 101 x\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nbytes', ends: true },
  { bytes: `${OK}X: ${long}\r\nContent-Length: 2\r\n\r\nok`, ends: true },
  { bytes: `${OK}${'X: 0123456789\r\n'.repeat(2_000)}Content-Length: 2\r\n\r\nok`, ends: true },
  // Chunks that are none.
  { bytes: `${CHUNKED}x\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2 \r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED} 2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}0x2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}-2\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nok0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nok\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nokk\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2;a\0b\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}fffffffffffffffff\r\nok\r\n0\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\nX-\0: 1\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\nnocolon\r\n\r\n`, ends: true },
  { bytes: `${CHUNKED}2\r\nok\r\n0\r\nX: ${long}\r\n\r\n`, ends: true },
];

const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  ',',
  '0',
  '2',
  'a',
  '\x7f',
  '\xff',
  'HTTP/1.1',
  'chunked',
] as const;

/** One of them with a few changes. It ends, so that no client waits for more. */
export function toOddAnswer(dice: Dice): string {
  let { bytes } = oddAnswers[dice.below(oddAnswers.length)] ?? { bytes: '' };
  for (let changes = dice.below(3); changes >= 0; changes -= 1) {
    const at = dice.below(Math.min(bytes.length, 300) + 1);
    const removed = dice.chance(50) ? dice.below(4) : 0;
    const added = dice.chance(70) ? dice.pick(TOKENS) : '';
    bytes = bytes.slice(0, at) + added + bytes.slice(at + removed);
  }
  return bytes;
}
