// Webhooks of a provider to a platform that is slow, refuses, is down or comes back: in order, signed again each time, until they are heard.

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { signContent } from '../../src/core/signature.ts';
import { createMemoryOutbox, type Notice, openSqliteStore, startWebhookSender } from '../../src/provider/index.ts';
import { toNextTry } from '../../src/provider/webhooks/next-try.ts';
import { atEnd } from '../support/at-end.ts';
import { listen } from '../support/kit-provider.ts';
import { tempDir } from '../support/temp-dir.ts';

const secret = new Secret('webhook-secret');

interface Heard {
  readonly path: string;
  readonly signature: string;
  readonly body: string;
  readonly what: string;
}

async function openPlatform() {
  const heard: Heard[] = [];
  const state = { status: (_what: string): number | Promise<number> => 202 };
  const { url } = await listen(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { action, resource } = JSON.parse(body);
    const what = `${action} ${resource.id} ${resource.status ?? ''}`.trim();
    heard.push({ path: request.url ?? '', signature: String(request.headers['x-signature']), body, what });
    response.writeHead(await state.status(what)).end();
  });
  return { url, heard, state };
}

type Options = Parameters<typeof startWebhookSender>[0];

function start(url: string, options: Partial<Options> = {}) {
  const givenUp: string[] = [];
  const sender = startWebhookSender({
    platformApiUrl: `${url}/`,
    provider: 'sample',
    webhookSecrets: () => [secret, new Secret('older')],
    outbox: createMemoryOutbox(),
    onGivenUp: (notice, reason) => givenUp.push(`${notice.resource.id}: ${reason}`),
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  atEnd(() => sender[Symbol.asyncDispose]());
  return { sender, givenUp };
}

const update = (id: string, status: string): Notice => ({ action: 'resource.updated', resource: { id, status } });

it('is signed over its bytes with the newest secret, at the address of the provider', async () => {
  const { url, heard } = await openPlatform();
  const { sender } = start(url);
  const resource = { id: 'p1', organization_id: 'org_1', user_id: 'user_1', plan: 'small', own: { field: 1 } };
  await sender.send({ action: 'resource.created', resource });
  await expect.poll(() => heard.length).toBe(1);
  const [{ path, signature, body } = { path: '', signature: '', body: '' }] = heard;
  expect(path).toBe('/api/hooks/extensions/sample');
  expect(signature).toBe(signContent(secret, body));
  expect(JSON.parse(body)).toEqual({
    timestamp: expect.stringMatching(/^\d{10}$/),
    action: 'resource.created',
    resource,
  });
});

it('is sent again with a new time and signature; the order of a resource is kept, and others do not wait', async () => {
  const { url, heard, state } = await openPlatform();
  let left = 1;
  state.status = (what) => {
    if (!what.endsWith('a one')) return 202;
    left -= 1;
    return left >= 0 ? 503 : 202;
  };
  const { sender } = start(url);
  for (const notice of [update('a', 'one'), update('a', 'two'), update('b', 'one')]) await sender.send(notice);
  await expect.poll(() => heard.length).toBe(4);
  const said = heard.map(({ what }) => what.replace('resource.updated ', ''));
  expect(said.filter((what) => what.startsWith('a'))).toEqual(['a one', 'a one', 'a two']);
  expect(said.indexOf('b one')).toBeLessThan(said.lastIndexOf('a one'));
  const [first, second] = heard.filter(({ what }) => what.endsWith('a one'));
  expect(second?.signature).not.toBe(first?.signature);
});

it('does not follow a redirect, and does not wait for ever', async () => {
  const elsewhere = await openPlatform();
  const moved: string[] = [];
  const { url } = await listen(async (request, response) => {
    moved.push(Buffer.concat(await request.toArray()).toString());
    if (moved.length === 1) response.writeHead(307, { location: `${elsewhere.url}/` }).end();
  });
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const waits: number[] = [];
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((wait_ms) => {
    waits.push(wait_ms);
    return timeout(wait_ms / 100);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const { sender } = start(url);
  await sender.send(update('a', '1'));
  // The second one is never answered.
  await expect.poll(() => moved.length, { timeout: 15_000 }).toBe(3);
  expect(waits.every((wait_ms) => wait_ms === 10_000)).toBe(true);
  expect(elsewhere.heard).toEqual([]);
});

it('is given up where the platform refuses it, and what comes after it is said', async () => {
  const { url, heard, state } = await openPlatform();
  state.status = (what) => (what.endsWith('bad') ? 422 : 202);
  const { sender, givenUp } = start(url);
  await sender.send(update('a', 'bad'));
  await sender.send(update('a', 'good'));
  await expect.poll(() => heard.map(({ what }) => what.split(' ')[2])).toEqual(['bad', 'good']);
  expect(givenUp).toEqual(['a: the platform answered 422']);
});

it('goes on from SQLite after the process has ended, and one that was on its way comes again', async () => {
  const { url, heard, state } = await openPlatform();
  const path = join(tempDir(), 'kit.db');
  const open = () => openSqliteStore({ path, sealKey: new Secret('k'.repeat(32)) });
  const hanging = Promise.withResolvers<number>();
  state.status = () => hanging.promise;
  const before = await open();
  const first = start(url, { outbox: before.outbox });
  for (const status of ['one', 'two']) await first.sender.send(update('a', status));
  await expect.poll(() => heard.length).toBe(1);
  await first.sender[Symbol.asyncDispose]();
  before[Symbol.dispose]();
  hanging.resolve(503);
  state.status = () => 202;
  const after = await open();
  atEnd(() => after[Symbol.dispose]());
  // The first one is lent to a process that is gone, for a minute.
  const later = { wall_ms: () => Date.now() + 61_000, mono_ms: () => 0 };
  start(url, { outbox: after.outbox, clock: later });
  await expect.poll(() => heard.map(({ what }) => what.split(' ')[2])).toEqual(['one', 'one', 'two']);
  await expect.poll(async () => await after.outbox.nextDue_ms()).toBeUndefined();
});

it('a thousand at once go out a few at a time', async () => {
  const { url, heard, state } = await openPlatform();
  let open = 0;
  let most = 0;
  state.status = async () => {
    open += 1;
    most = Math.max(most, open);
    await sleep(1);
    open -= 1;
    return 202;
  };
  const { sender } = start(url);
  for (let number = 0; number < 1_000; number += 1) await sender.send(update(`r${number % 300}`, String(number)));
  await expect.poll(() => heard.length, { timeout: 60_000 }).toBe(1_000);
  expect(most).toBeLessThanOrEqual(8);
  const ofOne = heard.filter(({ what }) => what.includes(' r7 ')).map(({ what }) => Number(what.split(' ')[2]));
  expect(ofOne).toEqual([7, 307, 607, 907]);
});

describe('the next try', () => {
  const waiting = { id: 1, notice: update('a', 'b'), added_ms: 0, tries: 0 };
  it.each([
    [200, 0, undefined, { type: 'delivered' }],
    [503, 0, undefined, { type: 'again', due_ms: 1_000 }],
    [0, 3, undefined, { type: 'again', due_ms: 8_000 }],
    [401, 20, undefined, { type: 'again', due_ms: 60_000 }],
    [429, 0, '7', { type: 'again', due_ms: 7_000 }],
    [429, 0, '999999', { type: 'again', due_ms: 300_000 }],
    [302, 0, 'soon', { type: 'again', due_ms: 1_000 }],
    [410, 0, undefined, { type: 'given_up', reason: 'the platform answered 410' }],
  ])('after %i and %i tries, Retry-After %s', (status, tries, retryAfter, expected) => {
    expect(toNextTry({ status, retryAfter }, { ...waiting, tries }, 0)).toEqual(expected);
  });

  it('is none after a day', () => {
    expect(toNextTry({ status: 503, retryAfter: undefined }, waiting, 24 * 3_600_000)).toMatchObject({
      type: 'given_up',
    });
  });
});
