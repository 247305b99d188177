// The bytes of a body beside its value, for operations whose caller signs what it sends: exactly as they came, and within the cap of
// the operation.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';

const CAP_BYTES = 2_000_000;
const KEY = 'the key of both sides';
const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'POST' } as const;
const json = { kind: 'json', status: 200, schema: z.unknown() } as const;
const hook = defineOperation({
  ...shared,
  path: '/v1/hook',
  body: z.object({ text: z.string() }),
  rawBody: { cap_bytes: CAP_BYTES },
  answer: json,
});
const small = defineOperation({
  ...shared,
  path: '/v1/small',
  body: z.record(z.string(), z.string()).optional(),
  bodyType: 'form',
  rawBody: { cap_bytes: 64 },
  answer: json,
});
const plain = defineOperation({ ...shared, path: '/v1/plain', body: z.unknown(), answer: json });

const sign = (bytes: string | Uint8Array) => createHmac('sha256', KEY).update(bytes).digest();

async function serve() {
  const reached: string[] = [];
  const { path } = await serveEdge(
    { hook, small, plain },
    {
      hook({ body, rawBody, request }) {
        reached.push('hook');
        const signature = Buffer.from(String(request.headers['x-signature']), 'hex');
        if (timingSafeEqual(signature, sign(rawBody))) return { length: body.text.length };
        throw new RemoraError('forbidden', 'the signature is not of this body');
      },
      small: ({ body, rawBody }) => ({ body: body ?? null, raw: Buffer.from(rawBody).toString() }),
      plain: ({ rawBody }) => ({ raw: rawBody ?? null }),
    },
  );
  const post = (target: string, headers: string, body: string | Buffer) => {
    const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n`;
    return openRaw(path, Buffer.concat([Buffer.from(head), Buffer.from(body)])).ended;
  };
  return { post, reached };
}

const JSON_TYPE = 'Content-Type: application/json\r\n';
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded\r\n';
const lengthOf = (body: string) => `Content-Length: ${Buffer.byteLength(body)}\r\n`;
const signed = (body: string) => `X-Signature: ${sign(body).toString('hex')}\r\n`;
/** Spaces, an escape, a repeated field and an order of its own: nothing that a second `JSON.stringify` would give again. */
const BODY = ' { "text" : "first" ,\r\n "text":"\\u0041ä" , "other": 1.0 } ';

test('a signature over the bytes holds, and one over other bytes of the same value does not', async () => {
  const { post } = await serve();
  expect(await post('/v1/hook', JSON_TYPE + lengthOf(BODY) + signed(BODY), BODY)).toMatch(/ 200 .*\{"length":2\}\n$/s);
  const other = BODY.trim();
  expect(await post('/v1/hook', JSON_TYPE + lengthOf(other) + signed(BODY), other)).toMatch(/^HTTP\/1.1 403 /);
});

test('a body that comes in chunks of one byte, or of many, is whole', async () => {
  const { post } = await serve();
  for (const [body, size] of [
    [BODY, 1],
    [JSON.stringify({ text: 'x'.repeat(1_500_000) }), 70_000],
  ] as const) {
    const bytes = Buffer.from(body);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    }
    const head = `${JSON_TYPE}Transfer-Encoding: chunked\r\n${signed(body)}`;
    expect(await post('/v1/hook', head, Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]))).toMatch(
      /^HTTP\/1.1 200 /,
    );
  }
});

test('the cap is that of the operation, also for a body that does not say its length', async () => {
  const { post, reached } = await serve();
  const atCap = `a=${'x'.repeat(62)}`;
  expect(await post('/v1/small', FORM_TYPE + lengthOf(atCap), atCap)).toContain(`"raw":"${atCap}"`);
  const over = `${atCap}x`;
  expect(await post('/v1/small', FORM_TYPE + lengthOf(over), over)).toMatch(/^HTTP\/1.1 413 .*at most 64 bytes/s);
  const chunked = `${over.length.toString(16)}\r\n${over}\r\n0\r\n\r\n`;
  expect(await post('/v1/small', `${FORM_TYPE}Transfer-Encoding: chunked\r\n`, chunked)).toMatch(/^HTTP\/1.1 413 /);
  const length = `Content-Length: ${CAP_BYTES + 1}\r\n`;
  expect(await post('/v1/hook', JSON_TYPE + length + signed(''), '{')).toMatch(/^HTTP\/1.1 413 .*"payload_too_large"/s);
  expect(reached).toEqual([]);
});

test('a body that does not parse reaches no handler, and one that is not there has no bytes', async () => {
  const { post, reached } = await serve();
  expect(await post('/v1/hook', JSON_TYPE + lengthOf('{') + signed('{'), '{')).toMatch(/^HTTP\/1.1 400 /);
  expect(reached).toEqual([]);
  expect(await post('/v1/small', lengthOf(''), '')).toContain('{"body":null,"raw":""}');
});

test('an operation that does not ask for the bytes keeps none', async () => {
  const { post } = await serve();
  expect(await post('/v1/plain', JSON_TYPE + lengthOf('{}'), '{}')).toContain('{"raw":null}');
});
