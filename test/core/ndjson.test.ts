import { describe, expect, it } from 'vitest';
import { createLineFramer, LINE_LIMIT_BYTES, LineTooLongError } from '../../src/core/ndjson.ts';

function frame(chunks: readonly (string | Uint8Array)[], limit_bytes?: number): { lines: string[]; rest: string } {
  const framer = createLineFramer(limit_bytes);
  const lines: string[] = [];
  for (const chunk of chunks) framer.push(Buffer.from(chunk), (line) => lines.push(line));
  return { lines, rest: framer.end() };
}

describe('lines out of byte chunks', () => {
  it.each([
    { name: 'one line in one chunk', chunks: ['{"a":1}\n'], lines: ['{"a":1}'], rest: '' },
    { name: 'two lines in one chunk', chunks: ['{"a":1}\n{"b":2}\n'], lines: ['{"a":1}', '{"b":2}'], rest: '' },
    { name: 'a cut inside a line', chunks: ['{"a"', ':1}\n{"b', '":2}\n'], lines: ['{"a":1}', '{"b":2}'], rest: '' },
    { name: 'a cut before the newline', chunks: ['{"a":1}', '\n{"b":2}\n'], lines: ['{"a":1}', '{"b":2}'], rest: '' },
    { name: 'no final newline', chunks: ['{"a":1}\n{"b":2}'], lines: ['{"a":1}'], rest: '{"b":2}' },
    { name: 'CRLF', chunks: ['{"a":1}\r\n{"b":2}\r\n'], lines: ['{"a":1}', '{"b":2}'], rest: '' },
    {
      name: 'CRLF cut between the two',
      chunks: ['{"a":1}\r', '\n{"b":2}\r\n'],
      lines: ['{"a":1}', '{"b":2}'],
      rest: '',
    },
    { name: 'blank lines', chunks: ['\n\n{"a":1}\n\r\n  \t\n{"b":2}\n\n'], lines: ['{"a":1}', '{"b":2}'], rest: '' },
    { name: 'nothing but a newline held over', chunks: ['\r', '\n'], lines: [], rest: '' },
    { name: 'an empty chunk', chunks: ['{"a"', '', ':1}\n'], lines: ['{"a":1}'], rest: '' },
    { name: 'a space at the end without a newline', chunks: ['{"a":1}\n  '], lines: ['{"a":1}'], rest: '' },
  ])('$name', ({ chunks, lines, rest }) => {
    expect(frame(chunks)).toEqual({ lines, rest });
  });

  it('gives the same lines however the bytes are cut, also inside a character', () => {
    const text = '{"db":"größe 🦅"}\r\n\n{"type":"tx"}\n{"last":"é"}';
    const bytes = Buffer.from(text);
    const whole = frame([bytes]);
    expect(whole).toEqual({ lines: ['{"db":"größe 🦅"}', '{"type":"tx"}'], rest: '{"last":"é"}' });
    for (let size = 1; size < bytes.length; size += 1) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      expect(frame(chunks)).toEqual(whole);
    }
  });

  it('does not keep the memory of a chunk that its owner uses again', () => {
    const framer = createLineFramer();
    const chunk = Buffer.from('{"a":');
    framer.push(chunk, () => undefined);
    chunk.fill('x');
    const lines: string[] = [];
    framer.push(Buffer.from('1}\n'), (line) => lines.push(line));
    expect(lines).toEqual(['{"a":1}']);
  });

  it('takes a line of exactly the limit, in one chunk or in many', () => {
    const line = 'x'.repeat(100);
    expect(frame([`${line}\n`], 100).lines).toEqual([line]);
    expect(frame([...line, '\n'], 100).lines).toEqual([line]);
  });

  it.each([
    { name: 'one byte too many in one chunk', chunks: [`ok\n${'x'.repeat(101)}\n`] },
    { name: 'one byte too many over chunks', chunks: ['ok\n', 'x'.repeat(60), 'x'.repeat(41)] },
  ])('refuses $name, after the lines that came before it', ({ chunks }) => {
    const framer = createLineFramer(100);
    const lines: string[] = [];
    const push = () => {
      for (const chunk of chunks) framer.push(Buffer.from(chunk), (line) => lines.push(line));
    };
    expect(push).toThrow(LineTooLongError);
    expect(lines).toEqual(['ok']);
    expect(framer.end()).toBe('');
  });

  it('never holds more than the limit while ten megabytes come without a newline', () => {
    const framer = createLineFramer();
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const before = process.memoryUsage().arrayBuffers;
    let pushed = 0;
    let most = 0;
    const push = () => {
      for (let sent = 0; sent < 10 * 1024 * 1024; sent += chunk.length) {
        framer.push(chunk, () => undefined);
        pushed += chunk.length;
        most = Math.max(most, process.memoryUsage().arrayBuffers - before);
      }
    };
    expect(push).toThrow(LineTooLongError);
    expect(pushed).toBe(LINE_LIMIT_BYTES);
    expect(most).toBeLessThan(4 * LINE_LIMIT_BYTES);
  });
});
