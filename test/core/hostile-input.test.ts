// What bytes from outside cost grows with their length and with nothing else, wherever they are parsed, matched or copied. Paths and
// policies have a file of their own, and so has the usage that is read out of an answer.
import { parse as parseToml } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { parseStreamLine } from '../../src/agent/replication/follow/stream-line.ts';
import { accessPolicyRequest } from '../../src/contract/access-policy.ts';
import { parseBoundedJson } from '../../src/core/bounded-json.ts';
import { createAnswerGuard } from '../../src/core/gateway/answer-guard.ts';
import { readKeyParameter, toLoggedPath, withoutCapability } from '../../src/core/gateway/capability-text.ts';
import { parseGatewayTarget } from '../../src/core/gateway/gateway-target.ts';
import { toCallerHeaders, toUpstreamHeaders } from '../../src/core/gateway/header-hygiene.ts';
import { createStreamEnds } from '../../src/core/gateway/stream-ends.ts';
import { readSubprotocolTokens, withoutCredentials } from '../../src/core/gateway/subprotocols.ts';
import { Pieces } from '../../src/core/http/pieces.ts';
import { createLineFramer } from '../../src/core/ndjson.ts';
import { parseTxCookies } from '../../src/core/replication/tx-cookie.ts';
import { Secret } from '../../src/core/secret.ts';
import { FrameTrack } from '../../src/core/websocket/frame-track.ts';
import { findHandshakeKey } from '../../src/core/websocket/websocket-handshake.ts';
import { acceptsEventStream } from '../../src/http/accepts-event-stream.ts';
import { readQuery } from '../../src/http/parse-pairs.ts';
import { parseWith } from '../../src/http/parse-with.ts';
import { stripQuery } from '../../src/platform/upstream/strip-query.ts';
import { growthOf } from '../support/growth.ts';
import { holdFrame } from '../support/held-frame.ts';
import { fill } from '../support/hostile-text.ts';

const LINEAR = 2.5;
const MEGABYTE = 1024 * 1024;
/** Megabytes, with what is garbage already: nothing collects it at once. */
const MEMORY_MAX = 160;

/** What refuses does so at a cost as well. */
function tried(work: (text: string) => unknown): (text: string) => unknown {
  return (text) => {
    try {
      return work(text);
    } catch (error) {
      return error;
    }
  };
}

/** A list of headers, flat, from lines. */
const toHeaders = (lines: string): string[] => lines.split('\n').flatMap((line) => line.split(': ', 2));
const bytewise = (text: string, push: (chunk: Buffer) => unknown): void => {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += 1) push(bytes.subarray(at, at + 1));
};

/** Each mark becomes another number. */
const numbered = (text: string): string => {
  let number = 0;
  return text.replaceAll('#', () => String(number++));
};

const guard = createAnswerGuard(new Secret('4711:secret'), () => undefined);
const wire = (text: string) => toCallerHeaders(toUpstreamHeaders(toHeaders(text)), 'provider', guard);
const framed = (text: string) => {
  const framer = createLineFramer();
  framer.push(Buffer.from(text), parseStreamLine);
  return framer.end();
};

interface Kind {
  readonly what: string;
  readonly work: (text: string) => unknown;
  /** What stands in front of the units; `tail` stands after them. */
  readonly head?: string;
  readonly tail?: string;
  readonly units: readonly string[];
  /** The shorter of the two lengths; 4 KB when absent. */
  readonly length?: number;
}

const kinds: readonly Kind[] = [
  {
    what: 'headers',
    work: wire,
    units: ['a: b\n', 'X-A: %25\n', 'Link: <a>\n', 'sec-websocket-protocol: a\n'],
    length: 16_000,
  },
  {
    what: 'a header',
    work: wire,
    head: 'X-A: ',
    units: ['%25', '%', '%72', 'remora_cap', '<', '<>', '4711:'],
    length: 16_000,
  },
  { what: 'Connection', work: wire, head: 'Connection: ', units: ['a,', ',', ' ,', '_.'], length: 16_000 },
  {
    what: 'framing',
    work: (text) => parseGatewayTarget('GET', '/v1/gateway/a/b/c', toHeaders(text)),
    units: ['host: a\n', 'fly.src_a: b\n'],
    length: 16_000,
  },
  {
    what: 'subprotocols',
    work: (text) => [withoutCredentials([text]), readSubprotocolTokens(text)],
    units: [',', 'a,', 'bearer,a,', ' ', 'eyJ', '-', 'remora_cap_,'],
    length: 16_000,
  },
  {
    what: 'a handshake',
    work: (text) => findHandshakeKey(toHeaders(text)),
    units: ['sec-websocket-key: a\n', 'a: b\n'],
    length: 16_000,
  },
  { what: 'cookies', work: parseTxCookies, units: [';', 'txnum=1;', '__txid="', '"', ' ', '='], length: 16_000 },
  {
    what: 'Accept',
    work: (text) => acceptsEventStream(text, 'application/x-ndjson'),
    units: [',', ';', 'a/b;q=1,', 'q=', ' '],
    length: 16_000,
  },
  { what: 'a query', work: readQuery, head: '/?', units: ['a&', '&', '=', '%25', '+', 'a=b&'] },
  {
    what: 'a query to strip',
    work: (text) => stripQuery(text, ['key', 'apiKey']),
    head: '/?',
    units: ['key&', '&', ';', '=', '%25', '+', '[', '%5b&', 'key=1;'],
  },
  {
    what: 'a query with tokens',
    work: (text) => [withoutCapability(text), readKeyParameter(text), toLoggedPath(text)],
    head: '/?',
    units: ['key=remora_cap_&', '%25', '%', '%72&', '&'],
  },
  {
    what: 'a line of a database node',
    work: framed,
    units: ['\n', ' ', '\r\n', '{"type":"tx"}\n', '[', '{"a":', '"'],
    length: 4_000,
  },
  {
    what: 'one long line in bytes',
    work: (text) => {
      const framer = createLineFramer();
      bytewise(text, (chunk) => framer.push(chunk, parseStreamLine));
    },
    units: ['a', '{"type":'],
    length: 16_000,
  },
  {
    what: 'JSON',
    work: parseBoundedJson,
    units: ['[', '{"a":', '1,', '"', '\\', '"\\', '{},', ' '],
    head: '[',
    length: 64_000,
  },
  {
    what: 'a policy',
    work: (text) => parseWith(accessPolicyRequest, parseBoundedJson(text), 'body'),
    head: '{"allowed_endpoints":[1',
    tail: ']}',
    units: [',1', ',"/*/"', ',[]', ',{}'],
    length: 8_000,
  },
  {
    what: 'frames',
    work: (text) => new FrameTrack().push(Buffer.from(text, 'latin1')),
    units: ['\x89\x00', '\x82\x7e\x00\x01a', '\x82\x7f', '\xff'],
    length: 64_000,
  },
  {
    what: 'a frame in bytes',
    work: (text) => {
      const track = new FrameTrack();
      bytewise(text, (chunk) => track.push(chunk));
    },
    units: ['\x89\x00', '\x82\x7f\x00\x00\x00\x00\x00\x10\x00\x00', '\xff'],
    length: 64_000,
  },
  { what: 'a frame that is held', work: (text) => holdFrame(Buffer.from(text), 16), units: ['a'], length: 64_000 },
  {
    what: 'the ends of a stream',
    work: (text) => {
      const ends = createStreamEnds(4_096, 16_384);
      bytewise(text, ends.push);
      return ends.texts();
    },
    units: ['a'],
    length: 32_000,
  },
  {
    what: 'a body in bytes',
    work: (text) => {
      const pieces = new Pieces();
      bytewise(text, (chunk) => pieces.push(chunk));
      return pieces.take();
    },
    units: ['a'],
    length: 32_000,
  },
  {
    what: 'TOML',
    work: parseToml,
    units: ['[', '[[', 'a=', 'a.', '"', '#', '\n', '[a]\n', '{a=', '\\', ' '],
    head: 'b = [1]\n',
  },
  {
    what: 'TOML with many names',
    work: (text) => parseToml(numbered(text)),
    units: ['k#=1\n', '[t#]\n', 'a.b#.c=1\n', '[[t]]\nid="#"\n', '[a.b#.c]\n'],
  },
  { what: 'TOML in a list', work: parseToml, units: ['[', '1,', '"",', '{},', ' ', '\n'], head: 'b = [' },
];

describe.each(kinds)('$what', ({ work, head = '', tail = '', units, length = 4_000 }) => {
  it.each(units)('costs at most 2.5 times as much when it is twice as long: %j', (unit) => {
    const [small, large] = [fill(unit, length, head, tail), fill(unit, 2 * length, head, tail)];
    expect(growthOf(tried(work), small, large, LINEAR)).toBeLessThanOrEqual(LINEAR);
  });
});

describe.each(kinds)('$what', ({ work, head = '', tail = '', units }) => {
  it.each(units)('fills no more than 160 MB with one: %j', (unit) => {
    const text = fill(unit, MEGABYTE, head, tail);
    const before_bytes = process.memoryUsage().heapUsed;
    tried(work)(text);
    expect(process.memoryUsage().heapUsed - before_bytes).toBeLessThan(MEMORY_MAX * MEGABYTE);
  });
});

it('a frame in pieces is one message', () => expect(holdFrame(Buffer.alloc(1_000), 16)).toEqual([1_000]));

describe('JSON from outside', () => {
  const list = (count: number) => `[${'1,'.repeat(count - 1)}1]`;

  it.each([
    ['deep lists', '['.repeat(100_000)],
    ['deep objects', '{"a":'.repeat(100_000)],
    ['deep lists that end', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    ['many values', list(500_000)],
    ['many fields', `{${Array.from({ length: 50_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
    ['many empty lists', `[${'[],'.repeat(100_000)}[]]`],
  ])('is refused before it is read: %s', (_name, text) => {
    expect(() => parseBoundedJson(text)).toThrow(/^it (?:has more than 32000 values|is more than 64 levels deep)$/);
  });

  it.each([
    ['a long list', list(20_000)],
    ['a long text', JSON.stringify(fill('[{,:\\"', 1_000_000))],
    ['a text that ends in backslashes', JSON.stringify([fill('\\', 9_000), '[', '\\"['])],
    ['deep, but short', `${'['.repeat(2_000)}${']'.repeat(2_000)}`],
    ['as deep as may be', `${'['.repeat(64)}${' '.repeat(9_000)}${']'.repeat(64)}`],
  ])('is read: %s', (_name, text) => expect(parseBoundedJson(text)).toEqual(JSON.parse(text)));

  it('that fails in many places is refused in few words', () => {
    const body = { allowed_endpoints: Array.from({ length: 200 }, () => 'x'), ['k'.repeat(5_000)]: 1 };
    expect(() => parseWith(accessPolicyRequest, body, 'body')).toThrow(/and 181 more$/);
    const error: Error = (() => {
      try {
        return parseWith(accessPolicyRequest, body, 'body') as never;
      } catch (cause) {
        return cause as Error;
      }
    })();
    expect(error.message.length).toBeLessThan(21 * 1_100);
  });

  it('is not the only thing that is counted: a query has at most 256 parameters', () => {
    const pairs = (count: number) => `/?${Array.from({ length: count }, (_, at) => `p${at}`).join('&')}`;
    expect(Object.keys(readQuery(pairs(256)))).toHaveLength(256);
    expect(() => readQuery(pairs(257))).toThrow('more than 256 parameters');
  });

  it('nor are subprotocols: the first 32 count', () => {
    const many = Array.from({ length: 40 }, (_, at) => `p${at}`);
    expect(withoutCredentials([many.join(',')]).split(', ')).toEqual(many.slice(0, 32));
    expect(withoutCredentials(many)).toBe(many.slice(0, 32).join(', '));
  });
});
