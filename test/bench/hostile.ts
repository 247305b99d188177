// What hostile input costs, in milliseconds of the thread that meets it, the median of several runs: `npm run bench:hostile`. The
// limits are absolute. What other processes do meanwhile shows in the time on the wall only.
import { parse as parseToml } from 'smol-toml';
import { parseStreamLine } from '../../src/agent/replication/follow/stream-line.ts';
import { accessPolicyRequest } from '../../src/contract/access-policy.ts';
import { parseBoundedJson } from '../../src/core/bounded-json.ts';
import { compilePolicy, decide } from '../../src/core/gateway/access-policy.ts';
import { createAnswerGuard } from '../../src/core/gateway/answer-guard.ts';
import { parseGatewayTarget } from '../../src/core/gateway/gateway-target.ts';
import { toCallerHeaders, toUpstreamHeaders } from '../../src/core/gateway/header-hygiene.ts';
import { readSubprotocolTokens, withoutCredentials } from '../../src/core/gateway/subprotocols.ts';
import { createUsageReader } from '../../src/core/gateway/token-usage.ts';
import { toLineSlices } from '../../src/core/line-slices.ts';
import { createLineFramer } from '../../src/core/ndjson.ts';
import { parseTxCookies } from '../../src/core/replication/tx-cookie.ts';
import { Secret } from '../../src/core/secret.ts';
import { FrameTrack } from '../../src/core/websocket/frame-track.ts';
import { readQuery } from '../../src/http/parse-pairs.ts';
import { parseWith } from '../../src/http/parse-with.ts';
import { stripQuery } from '../../src/platform/upstream/strip-query.ts';
import { holdFrame } from '../support/held-frame.ts';
import { fill, pairsOf, pathUnits } from '../support/hostile-text.ts';
import { threadTime_ms } from '../support/thread-time.ts';
import { type Figure, percentile, printTable } from './table.ts';

/** The first runs meet code that is not compiled yet, which is no matter of the input. */
const FIRST_RUNS = 3;
const RUNS = 9;
/** The costliest are measured again: the highest of many medians would be one that met other work. */
const AGAIN = 8;
const TARGET_LENGTH = 7_900;
const PIECE_BYTES = 64;
/** What all headers of a request may have together. */
const COOKIE_LENGTH = 64 * 1024;
const SUBPROTOCOL_LENGTH = 8 * 1024;
const RULE_LENGTH = 2_000;
const RULES = 256;
const sprite = { name: 'dev-1', labels: [] };

interface Cost {
  readonly name: string;
  readonly best_ms: number;
  readonly median_ms: number;
  readonly wall_ms: number;
}

function measure(name: string, work: () => unknown): Cost {
  for (let run = 0; run < FIRST_RUNS; run += 1) tried(work);
  const runs = Array.from({ length: RUNS }, () => {
    const begun = performance.now();
    const thread_ms = threadTime_ms(() => tried(work));
    return { thread_ms, wall_ms: performance.now() - begun };
  });
  const thread_ms = runs.map((run) => run.thread_ms);
  const wall_ms = percentile(
    runs.map((run) => run.wall_ms),
    0.5,
  );
  return { name, best_ms: Math.min(...thread_ms), median_ms: percentile(thread_ms, 0.5), wall_ms };
}

/** Returns the error: to refuse costs as well. */
function tried(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

function figure(what: string, inputs: Iterable<readonly [string, () => unknown]>, bar_ms: number): Figure {
  const first = Array.from(inputs, ([name, work]) => ({ name, work, cost: measure(name, work) }));
  const costliest = first.toSorted((a, b) => b.cost.median_ms - a.cost.median_ms).slice(0, AGAIN);
  const worst = costliest
    .map(({ name, work }) => measure(name, work))
    .reduce((most, cost) => (cost.median_ms > most.median_ms ? cost : most));
  const [median, best, wall] = [worst.median_ms, worst.best_ms, worst.wall_ms].map((ms) => ms.toFixed(2));
  return {
    what: `${what}, at worst ${JSON.stringify(worst.name)}`,
    value: `${median} ms (best ${best}, wall ${wall})`,
    bar: `${bar_ms} ms`,
    met: worst.median_ms <= bar_ms,
  };
}

const rules = (make: (at: number) => string) => Array.from({ length: RULES }, (_, at) => make(at));
const policies = {
  alike: rules((at) => `/${fill('a', RULE_LENGTH)}${at}*`),
  nested: rules((at) => `/${fill('a', RULE_LENGTH - RULES + at)}*`),
  slashes: rules((at) => `/${at}${fill('/', RULE_LENGTH)}*`),
  escapes: rules((at) => `/${at}${fill('%2f', RULE_LENGTH)}*`),
  percents: rules((at) => `/${at}${fill('%25', RULE_LENGTH)}*`),
  'an escape and text': rules((at) => `/%41//${fill('a', RULE_LENGTH)}${at}*`),
  'a wide escape and text': rules((at) => `/%EF%BC%8F//${fill('a', RULE_LENGTH)}${at}*`),
  'letters that grow': rules((at) => `/${at}${fill('%EF%B7%BA', RULE_LENGTH)}*`),
  'marks out of order': rules((at) => `/${at}${fill(`a${'%CC%80'.repeat(15)}${'%CC%96'.repeat(15)}`, RULE_LENGTH)}*`),
};

function* targets(): Generator<readonly [string, string]> {
  for (const unit of pairsOf(pathUnits)) yield [unit, fill(unit, TARGET_LENGTH, '/')];
  yield ['every change', fill('a/;.', TARGET_LENGTH, '/a;b%3b%5c%2523%253f%252f%25C2%25AD./', 'x%20y%253b/.')];
  yield ['slashes after every reading', fill('/', TARGET_LENGTH, '/a;b%3b%5c%2523%253f%252f', 'x%20y%253b/')];
  yield ['wide letters', fill('a/;A', TARGET_LENGTH, '/%CE%A3a;b%3b%5c%2523./', 'x%20y%253b/.')];
}

const judged = [
  compilePolicy({ allow_all: true }),
  compilePolicy({ allow_all: true, blocked_endpoints: policies.alike, allowed_endpoints: [...policies.nested, '*'] }),
];

function* decisions(): Generator<readonly [string, () => unknown]> {
  for (const [name, path] of targets()) {
    for (const policy of judged) {
      yield [
        name,
        () => {
          const target = parseGatewayTarget('GET', `/v1/gateway/openai/c${path}`, []);
          if (target.type === 'target') decide(policy, sprite, target.path);
        },
      ];
    }
  }
}

function* compilations(): Generator<readonly [string, () => unknown]> {
  for (const [name, list] of Object.entries(policies)) {
    const problem = accessPolicyRequest.safeParse({ blocked_endpoints: list }).error;
    if (problem !== undefined) throw problem;
    yield [`${name}, blocked`, () => compilePolicy({ allow_all: true, blocked_endpoints: list }).rules()];
    yield [`${name}, allowed`, () => compilePolicy({ allow_all: true, allowed_endpoints: list }).rules()];
  }
}

const ANSWER_LENGTH = 24 * 1024;
const answers = {
  'keys within keys': `${' '.repeat(8_192)}${'"usage":{'.repeat(1_600)}"input_tokens":1${'}'.repeat(1_600)}`,
  keys: fill('"usage":{', ANSWER_LENGTH),
  lines: fill('"usage\n', ANSWER_LENGTH),
  events: fill('data: {"usage":{"input_tokens":1}}\n', ANSWER_LENGTH),
  fields: `data: {${Array.from({ length: 1_700 }, (_, at) => `"k${at}":1`).join(',')},"usage":{"input_tokens":1}}\n`,
  lists: fill('[', ANSWER_LENGTH, '"usage"'),
};

function* usages(): Generator<readonly [string, () => unknown]> {
  for (const type of ['application/json', 'text/event-stream']) {
    for (const [name, text] of Object.entries(answers)) {
      for (const before of ['', fill('x', 40_000)]) {
        const reader = createUsageReader(['content-type', type]);
        reader?.push(Buffer.from(before + text));
        yield [`${name} in ${type}`, () => reader?.read()];
      }
    }
  }
}

const guard = createAnswerGuard(new Secret('4711:a-credential'));
const HEADER_LENGTH = 32_000;

function* headers(): Generator<readonly [string, () => unknown]> {
  const pass = (list: readonly string[]) => toCallerHeaders(toUpstreamHeaders(list), 'provider', guard);
  for (const unit of ['%25', '%', '%72', 'remora_cap', 'a,', ',', '<', 'bearer,']) {
    for (const name of ['X-A', 'Connection', 'Link', 'Sec-WebSocket-Protocol']) {
      yield [`${name}: ${unit}`, () => pass([name, fill(unit, HEADER_LENGTH)])];
    }
  }
  yield ['many', () => pass(Array.from({ length: HEADER_LENGTH / 4 }, (_, at) => (at % 2 === 0 ? 'x.a' : '%')))];
}

function* queries(): Generator<readonly [string, () => unknown]> {
  for (const unit of ['a&', '&', '=', '%25', '+', '%', 'key=1&', 'key[&', ';']) {
    yield [
      unit,
      () => [readQuery(fill(unit, TARGET_LENGTH, '/?')), stripQuery(fill(unit, TARGET_LENGTH, '/?'), ['key'])],
    ];
  }
}

const BODY_LENGTH = 1024 * 1024;

function* bodies(): Generator<readonly [string, () => unknown]> {
  for (const unit of ['1,', '"",', '[', '[],', '{"a":', '{},', '"/*",', '\\', 'a']) {
    const text = fill(unit, BODY_LENGTH, '{"blocked_endpoints":[', '""]}');
    yield [unit, () => parseWith(accessPolicyRequest, parseBoundedJson(text), 'body')];
  }
  const fields = Array.from({ length: 90_000 }, (_, at) => `"k${at}":1`).join(',');
  yield ['fields', () => parseWith(accessPolicyRequest, parseBoundedJson(`{${fields}}`), 'body')];
}

const framesOf = (unit: string, length: number) => Buffer.from(fill(unit, length), 'latin1');

/** The text in pieces of 64 bytes. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

function* lines(): Generator<readonly [string, () => unknown]> {
  const long = [
    ...['a', '\\u00e9', '\\n', 'é', '😀'].map((unit) => fill(unit, BODY_LENGTH / 2, '{"type":"x","a":"', '"}')),
    ...[' ', '[],', '1', '1,', '[', '{"a":'].map((unit) => fill(unit, BODY_LENGTH, '{"type":"x","a":[', '1]}')),
    fill('d', BODY_LENGTH, '{"type":"tx","db":"', '","data":{}}'),
  ];
  for (const text of long) {
    const bytes = Buffer.from(`${text}\n`);
    yield [text.slice(0, 30), () => createLineFramer().push(bytes, parseStreamLine)];
  }
}

/** What one turn of the event loop takes of them. */
function* slices(): Generator<readonly [string, () => unknown]> {
  for (const unit of ['\n', ' \n', '\r\n', '1\n', '{}\n', '[\n', '{"type":"tx"}\n', '{"type":"tx","data":{}}\n']) {
    const [slice = Buffer.alloc(0)] = toLineSlices(framesOf(unit, BODY_LENGTH));
    yield [unit, () => createLineFramer().push(slice, parseStreamLine)];
  }
}

function* lineInPieces(): Generator<readonly [string, () => unknown]> {
  for (const unit of ['a', ' ', 'é', '\\']) {
    const bytes = Buffer.from(fill(unit, BODY_LENGTH / Buffer.byteLength(unit) - 1));
    yield [
      unit,
      () => {
        const framer = createLineFramer();
        for (const piece of piecesOf(bytes)) framer.push(piece, parseStreamLine);
      },
    ];
  }
}

const smallFrames = {
  pings: '\x89\x00',
  'masked pings': '\x89\x80abcd',
  'empty texts': '\x81\x80abcd',
  'a byte each': '\x82\x81abcdx',
  'a byte each with a long length': '\x82\xff\x00\x00\x00\x00\x00\x00\x00\x01abcdx',
  fragments: '\x00\x80abcd',
};

function* tracked(): Generator<readonly [string, () => unknown]> {
  for (const [name, unit] of Object.entries(smallFrames)) {
    const bytes = framesOf(unit, BODY_LENGTH);
    yield [name, () => new FrameTrack().push(bytes)];
  }
}

function* frameInPieces(): Generator<readonly [string, () => unknown]> {
  const frame = framesOf('x', BODY_LENGTH);
  Buffer.from([0x82, 0x7f, 0, 0, 0, 0, 0, 0x0f, 0xff, 0xf6]).copy(frame);
  yield [
    'followed only',
    () => {
      const track = new FrameTrack();
      for (const piece of piecesOf(frame)) track.push(piece);
    },
  ];
  yield ['held by ws', () => holdFrame(frame, PIECE_BYTES)];
}

const TOML_LENGTH = 1024 * 1024;

function* tomls(): Generator<readonly [string, () => unknown]> {
  for (const unit of ['[', '[[', 'a=', 'a.', '"', '#', '\n', '[a]\n', '{a=', '\\', ' ', '[[a]]\n']) {
    yield [unit, () => parseToml(fill(unit, TOML_LENGTH, 'b = [1]\n'))];
  }
  for (const unit of ['[', '1,', '"",', '{},', '{a=[', ' ', '\n', '"\\u00e9",']) {
    yield [`in a list: ${unit}`, () => parseToml(fill(unit, TOML_LENGTH, 'b = ['))];
  }
  const many = (make: (at: number) => string) => Array.from({ length: 60_000 }, (_, at) => make(at)).join('\n');
  for (const [name, text] of [
    ['keys', many((at) => `key${at} = 1`)],
    ['tables', many((at) => `[table${at}]`)],
    ['dotted keys', many((at) => `a.b${at}.c = 1`)],
    ['providers', many((at) => `[[providers]]\nid = "${at}"`)],
    ['deep keys', `${'a.'.repeat(500_000)}a = 1`],
  ] as const) {
    yield [name, () => parseToml(text)];
  }
}

function* cookies(): Generator<readonly [string, () => unknown]> {
  for (const unit of [';', '=', ';=', 'txnum=1;', '__txid="', '"', ' ', 'a=b; ', 'txnum=9', '9']) {
    for (const head of ['', 'txnum=', '__txid="']) {
      yield [head + unit, () => parseTxCookies(fill(unit, COOKIE_LENGTH, head))];
    }
  }
}

function* subprotocols(): Generator<readonly [string, () => unknown]> {
  for (const unit of [',', 'a,', 'bearer,a,', ' ', 'eyJ', '-', 'eyJ.', 'remora_cap_,', 'remora_cap_', 'token.', 'A']) {
    for (const head of ['', 'eyJ']) {
      const value = fill(unit, SUBPROTOCOL_LENGTH, head);
      yield [head + unit, () => [withoutCredentials([value]), readSubprotocolTokens(value)]];
    }
  }
}

printTable('hostile input', [
  figure('a target of 8 KB, read and decided', decisions(), 2),
  figure('a policy of 256 rules of 2 KB, compiled', compilations(), 20),
  figure('the token usage of an answer', usages(), 1),
  figure('headers of 32 KB, both ways', headers(), 5),
  figure('a query of 8 KB', queries(), 2),
  figure('a body of 1 MB', bodies(), 20),
  figure('a line of 1 MB of a database node', lines(), 15),
  figure('one turn of 1 MB of tiny lines', slices(), 5),
  figure('a line of 1 MB in pieces of 64 bytes', lineInPieces(), 20),
  figure('1 MB of tiny frames, followed', tracked(), 20),
  figure('a frame of 1 MB in 16,000 pieces', frameInPieces(), 50),
  figure('TOML of 1 MB, read before anything is served', tomls(), 250),
  figure('a Cookie header of 64 KB', cookies(), 5),
  figure('subprotocols of 8 KB', subprotocols(), 1),
]);
