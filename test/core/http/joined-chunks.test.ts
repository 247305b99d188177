import { describe, expect, it } from 'vitest';
import { AnswerJoiner } from '../../../src/core/http/answer-joiner.ts';
import { RequestJoiner } from '../../../src/core/http/request-joiner.ts';
import { randomFraction } from '../../../src/core/urandom.ts';

const pick = (below: number) => Math.floor(randomFraction() * below);

/** The same bytes in reads of random sizes. */
function* cut(text: string, most: number): Generator<Buffer> {
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + pick(most);
    yield bytes.subarray(at, end);
    at = end;
  }
}

function toChunks(body: string, most: number, extension = ''): string {
  let text = '';
  for (let at = 0; at < body.length; ) {
    const piece = body.slice(at, at + 1 + pick(most));
    text += `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`;
    at += piece.length;
  }
  return `${text}0\r\n\r\n`;
}

/** What a parser makes of a chunked body that fills `text`, and how many chunks it has to read for that. */
function parse(text: string): { readonly body: string; readonly chunks: number; readonly rest: string } {
  let body = '';
  let chunks = 0;
  let at = 0;
  for (;;) {
    const end = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, end), 16);
    expect(text.slice(at, end)).toMatch(/^[0-9a-f]+(;[a-z=]*)?$/i);
    at = end + 2;
    if (size === 0) break;
    body += text.slice(at, at + size);
    expect(text.slice(at + size, at + size + 2)).toBe('\r\n');
    at += size + 2;
    chunks += 1;
  }
  const end = text.startsWith('\r\n', at) ? at + 2 : text.indexOf('\r\n\r\n', at) + 4;
  return { body, chunks, rest: text.slice(end) };
}

const bodies = ['', 'a', 'abc\r\n0\r\n\r\n', 'x'.repeat(3_000), '1\r\na\r\n'.repeat(400)];

describe('requests', () => {
  const head = 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';

  it('say that a read is spent only when nothing in it may be needed again', () => {
    const joiner = new RequestJoiner();
    const isSpentAfter = (text: string) => {
      joiner.push(Buffer.from(text, 'latin1'));
      return joiner.isSpent;
    };
    expect(isSpentAfter('PUT /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n123')).toBe(false);
    expect(isSpentAfter('4567')).toBe(true);
    expect(isSpentAfter('890')).toBe(true);
    expect(isSpentAfter('PUT /a HTTP/1.1\r\nContent-')).toBe(false);
    expect(isSpentAfter('Length: 10\r\n\r\n')).toBe(false);
    expect(isSpentAfter('1234567890GET /')).toBe(false);
    joiner.onSwitched();
    expect(isSpentAfter('bytes of another protocol')).toBe(false);
  });

  it('reach the parser with the same bodies, however they were cut and wherever one ends in a read', () => {
    for (let round = 0; round < 60; round += 1) {
      const sent = Array.from({ length: 4 }, () => ({
        body: bodies[pick(bodies.length)] ?? '',
        isChunked: pick(2) === 0,
      }));
      const text = sent
        .map(({ body, isChunked }) =>
          isChunked ? head + toChunks(body, 40) : `POST /b HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        .join('');
      const joiner = new RequestJoiner();
      let out = '';
      for (const read of cut(text, [3, 200, 100_000][round % 3] ?? 1)) out += joiner.push(read).toString('latin1');
      for (const { body, isChunked } of sent) {
        const seen = joiner.next();
        expect(seen).toMatchObject({ isChunked, length_bytes: isChunked ? 0 : body.length });
        const end = out.indexOf('\r\n\r\n') + 4;
        expect(out.slice(0, end)).toContain(seen?.line);
        const parsed = isChunked
          ? parse(out.slice(end))
          : { body: out.slice(end, end + body.length), rest: out.slice(end + body.length) };
        expect(parsed.body).toBe(body);
        out = parsed.rest;
      }
      expect(out).toBe('');
      expect(joiner.next()).toBeUndefined();
    }
  });

  it('of one-byte chunks have at most three chunks for each read', () => {
    const joiner = new RequestJoiner();
    let out = joiner.push(Buffer.from(head)).toString('latin1').slice(head.length);
    let reads = 0;
    for (const read of cut(toChunks('z'.repeat(20_000), 1), 8_000)) {
      out += joiner.push(read).toString('latin1');
      reads += 1;
    }
    const { body, chunks } = parse(out);
    expect(body).toBe('z'.repeat(20_000));
    expect(chunks).toBeLessThanOrEqual(3 * reads);
  });

  it('stay as they are where a read holds one chunk, or one with an extension that the parser counts', () => {
    const joiner = new RequestJoiner();
    joiner.push(Buffer.from(head));
    for (const text of ['5\r\nhello\r\n', '1;a=b\r\nx\r\n1;a=b\r\nx\r\n', '0\r\nX-Sum: 1\r\n\r\n']) {
      const read = Buffer.from(text);
      expect(joiner.push(read)).toBe(read);
    }
  });

  it.each([
    ['a handshake', 'GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['what is no chunk', `${head}nonsense\r\n`],
    ['a tunnel', 'CONNECT a:1 HTTP/1.1\r\n\r\n'],
  ])('are not followed after %s', (_name, text) => {
    const joiner = new RequestJoiner();
    joiner.push(Buffer.from(text));
    const later = Buffer.from(head + toChunks('abc', 1));
    expect(joiner.push(later)).toBe(later);
    joiner.next();
    expect(joiner.isAtEnd).toBe(true);
    expect(joiner.next()).toBeUndefined();
  });

  it('that come all at once are given a few at a time, and none is lost', () => {
    const joiner = new RequestJoiner();
    const one = 'POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc';
    let out = joiner.push(Buffer.from(one.repeat(100))).toString('latin1');
    let rest = joiner.takeRest();
    expect(out.length).toBeLessThanOrEqual(10 * one.length);
    for (let answered = 0; answered < 100; answered += 1) {
      expect(joiner.next()).toMatchObject({ length_bytes: 3 });
      joiner.onAnswered();
      if (rest === undefined) continue;
      out += joiner.push(rest).toString('latin1');
      rest = joiner.takeRest();
    }
    expect(out).toBe(one.repeat(100));
  });

  it('have a folded header where the parser reads one', () => {
    const joiner = new RequestJoiner();
    joiner.push(
      Buffer.from('POST /a HTTP/1.1\r\nX: a\r\n Content-Length: 5\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n'),
    );
    expect(joiner.next()).toEqual({ line: 'POST /a HTTP/1.1', isChunked: true, length_bytes: 0 });
  });
});

describe('answers', () => {
  const hint = 'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n';
  const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

  /** A parser that meets the heads in what it was given, in order, and says so. */
  function openParser() {
    let out = '';
    let met = 0;
    const joiner = new AnswerJoiner((bytes) => {
      out += bytes.toString('latin1');
    });
    const meet = (bytes: Buffer) => {
      out += bytes.toString('latin1');
      if (met === 0 && out.includes(hint)) {
        met = 1;
        joiner.onHead(103, false);
      }
      if (met === 1 && out.includes(head)) {
        met = 2;
        joiner.onHead(200, true);
      }
    };
    return {
      joiner,
      /** What comes behind an informational head follows once the parser has met that. */
      give(read: Buffer) {
        for (let next: Buffer | undefined = read; next !== undefined; next = joiner.takeRest()) meet(joiner.push(next));
      },
      /** What it was given of one answer. */
      take() {
        const all = out;
        out = '';
        met = 0;
        return all;
      },
    };
  }

  it('reach the parser with the same bodies, whatever came with their heads', () => {
    for (let round = 0; round < 90; round += 1) {
      const { joiner, give, take } = openParser();
      for (const body of bodies) {
        joiner.begin();
        const text = hint + head + toChunks(body, 40, pick(2) === 0 ? ';a=b' : '');
        for (const read of cut(text, [3, 200, 100_000][round % 3] ?? 1)) give(read);
        const out = take();
        expect(out.startsWith(hint + head)).toBe(true);
        expect(parse(out.slice(hint.length + head.length))).toMatchObject({ body, rest: '' });
      }
    }
  });

  it('have few chunks however they are cut, those that come with the head as well', () => {
    const { joiner, give, take } = openParser();
    joiner.begin();
    for (const read of cut(hint + head + toChunks('z'.repeat(20_000), 1), 1_000_000)) give(read);
    const { body, chunks } = parse(take().slice(hint.length + head.length));
    expect(body).toBe('z'.repeat(20_000));
    expect(chunks).toBeLessThan(1_500);
  });

  it('are not touched before the parser has met the head of a chunked one', () => {
    const joiner = new AnswerJoiner(() => undefined);
    const read = Buffer.from(head + toChunks('abcd', 1));
    expect(joiner.push(read)).toBe(read);
    joiner.begin();
    expect(joiner.push(read)).toBe(read);
    joiner.onHead(200, false);
    expect(joiner.push(read)).toBe(read);
  });

  it('are given whole to a parser that meets no head any more', () => {
    const joiner = new AnswerJoiner(() => undefined);
    joiner.begin();
    const text = head + toChunks('z'.repeat(5_000), 1);
    const given = [joiner.push(Buffer.from(text)), ...joiner.takeLast()];
    expect(Buffer.concat(given).toString('latin1')).toBe(text);
  });

  it('have their informational heads given one at a time, however they were cut', () => {
    for (const most of [3, 40, 1_000]) {
      const joiner = new AnswerJoiner(() => undefined);
      joiner.begin();
      const given: string[] = [''];
      const waiting = [...cut(`\r\n${hint.repeat(3)}HTTP/1.1 200 OK\r\n\r\n${hint}`, most)];
      for (let read = waiting.shift(); read !== undefined; read = waiting.shift()) {
        given.push(`${given.pop()}${joiner.push(read).toString('latin1')}`);
        const rest = joiner.takeRest();
        if (rest === undefined) continue;
        waiting.unshift(rest);
        joiner.onHead(103, false);
        given.push('');
      }
      expect(given).toEqual([`\r\n${hint}`, hint, hint, `HTTP/1.1 200 OK\r\n\r\n${hint}`]);
    }
  });

  it('let nothing pass behind an informational head before the parser has met that', () => {
    const joiner = new AnswerJoiner(() => undefined);
    joiner.begin();
    joiner.push(Buffer.from(hint));
    expect(joiner.takeRest()).toHaveLength(0);
    expect(joiner.push(Buffer.from(head))).toHaveLength(0);
    expect(joiner.takeRest()?.toString()).toBe(head);
  });

  it('are not cut behind the answer to a handshake', () => {
    const joiner = new AnswerJoiner(() => undefined);
    joiner.begin();
    const read = Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n\r\n${hint}`);
    expect(joiner.push(read)).toBe(read);
    expect(joiner.takeRest()).toBeUndefined();
  });

  it.each([
    ['a short informational head', '', hint, false],
    ['long informational heads', '', hint.repeat(200), true],
    ['long informational heads behind a part of the first', hint.slice(0, 4), hint.slice(4).repeat(200), true],
    ['the end of a long informational head', hint.slice(0, -4) + 'a'.repeat(5_000), '\r\n\r\n', true],
    ['a long answer', '', `${head}${'a'.repeat(5_000)}`, false],
  ])('wait for a turn of their own or not: %s', (_name, before, text, mustWait) => {
    const joiner = new AnswerJoiner(() => undefined);
    expect(joiner.mustWait(Buffer.from(text))).toBe(false);
    joiner.begin();
    joiner.push(Buffer.from(before));
    expect(joiner.mustWait(Buffer.from(text))).toBe(mustWait);
  });
});
