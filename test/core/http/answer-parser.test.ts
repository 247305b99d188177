import { expect, it } from 'vitest';
import { AnswerFault } from '../../../src/core/http/answer-fault.ts';
import { AnswerParser } from '../../../src/core/http/answer-parser.ts';
import { createDice } from '../../support/dice.ts';
import { oddAnswers } from '../../support/odd-answers.ts';

/** What the parser tells of `reads`, which come one after the other, and the end of the connection. */
function parse(reads: readonly Buffer[]) {
  const heads: unknown[] = [];
  let body = '';
  let trailers: readonly string[] | undefined;
  const parser = new AnswerParser({
    onBegin: () => undefined,
    onHead: ({ status, phrase, headers, bodyEnd, keepsAlive }) =>
      heads.push([status, phrase, [...headers], bodyEnd, keepsAlive]),
    onData(bytes) {
      body += bytes.toString('latin1');
    },
    onEnd(given) {
      trailers = given;
    },
  });
  parser.begin();
  let fault: string | undefined;
  try {
    for (const read of reads) {
      for (let at = 0; at < read.length && !parser.isOver; ) at += parser.push(read.subarray(at));
    }
    if (!parser.isOver) parser.finish();
  } catch (error) {
    fault = error instanceof AnswerFault ? error.code : String(error);
  }
  return { heads, body, trailers, fault };
}

/** A parser may change what it reads. */
const copyOf = (bytes: string) => Buffer.from(bytes, 'latin1');

it('takes an answer apart in the same way however it is cut', () => {
  const dice = createDice('5eed');
  for (const { bytes } of oddAnswers) {
    const whole = parse([copyOf(bytes)]);
    const single = Array.from(bytes.slice(0, 3_000), copyOf);
    expect(parse([...single, copyOf(bytes.slice(3_000))]), JSON.stringify(bytes.slice(0, 200))).toEqual(whole);
    for (let round = 0; round < 5; round += 1) {
      const reads: Buffer[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + dice.below(40) + (dice.chance(10) ? 5_000 : 0);
        reads.push(copyOf(bytes.slice(at, end)));
        at = end;
      }
      expect(parse(reads), JSON.stringify(bytes.slice(0, 200))).toEqual(whole);
    }
  }
});

it.each([
  'GET',
  'HTTP/1.1 200 OK\n',
  'HTTP/1.1 200 OK\r\nX: a\n',
  'HTTP/1.1 200 OK\r\nX: \0',
  'HTTP/1.1 200 OK\r\nX y: 1\r\n',
  `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`,
  `HTTP/1.1 200 ${'x'.repeat(20_000)}`,
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;',
])('refuses %j at once, or bounds it', (bytes) => {
  const parser = new AnswerParser({ onBegin() {}, onHead() {}, onData() {}, onEnd() {} });
  parser.begin();
  const more = bytes.endsWith('1;') ? 'x'.repeat(20_000) : '';
  expect(() => parser.push(copyOf(bytes + more))).toThrow(AnswerFault);
});

it('keeps nothing of the memory of a read', () => {
  const told: string[] = [];
  const parser = new AnswerParser({
    onBegin: () => undefined,
    onHead: ({ headers }) => void told.push(...headers),
    onData: (bytes) => void told.push(bytes.toString()),
    onEnd: (trailers) => void told.push(...trailers),
  });
  parser.begin();
  const memory = Buffer.alloc(256);
  for (const part of [
    'HTTP/1.1 200 OK\r\nX-Na',
    'me: val',
    'ue\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-S',
    'um: 1\r\n\r\n',
  ]) {
    memory.fill('!');
    memory.write(part, 'latin1');
    parser.push(memory.subarray(0, part.length));
  }
  expect(told).toEqual(['X-Name', 'value', 'Transfer-Encoding', 'chunked', 'ok', 'X-Sum', '1']);
});

it.each([
  ['small chunks', '1\r\na\r\n', true],
  ['sizes with long extensions', `1;${'a'.repeat(16_000)}\r\nb\r\n`, true],
  ['sizes with many zeros', `${'0'.repeat(16_000)}1\r\nb\r\n`, true],
  ['larger chunks', `400\r\n${'a'.repeat(1_024)}\r\n`, false],
])('counts by what is between the bytes of a body whether a read of %s is finely cut', (_name, chunk, isFine) => {
  const parser = new AnswerParser({ onBegin() {}, onHead() {}, onData() {}, onEnd() {} });
  parser.begin();
  const body = chunk.repeat(Math.ceil((64 * 1024) / chunk.length));
  parser.push(copyOf(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`));
  expect(parser.isFine).toBe(isFine);
});
