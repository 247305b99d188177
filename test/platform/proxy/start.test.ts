// Requests to a machine that does not run: they start it once, wait within bounds, and what may not come in wakes nothing.
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { RemoraError } from '../../../src/core/remora-error.ts';
import type { ChannelSession } from '../../../src/platform/channels/channel-session.ts';
import type { MachineRow } from '../../../src/platform/machines/records/machine-row.ts';
import { HELD_MAX, MachineWays } from '../../../src/platform/proxy/machine-ways.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';
import { remoraPath } from '../../support/run-remora.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** An agent that boots once a file is there. */
function toGatedAgent(gate: string) {
  const script = 'while [ ! -e "$GATE" ]; do sleep 0.05; done; exec "$@"';
  return {
    command: '/bin/sh',
    args: ['-c', script, 'agent', process.execPath, remoraPath, 'agent'],
    env: () => ({ GATE: gate }),
  };
}

const opened = openOnce(async () => {
  const gate = join(tempDir(), 'gate');
  writeFileSync(gate, '');
  const proxied = await openProxiedMachine({ agentCommand: toGatedAgent(gate) });
  const { machine } = proxied;
  const events = async () =>
    (await machine.platform.call({ path: `/v1/apps/acme/machines/${machine.id}/events` })).json;
  const suspend = async () => {
    expect((await machine.post('suspend')).status).toBe(200);
    expect((await machine.wait('state=suspended')).status).toBe(200);
  };
  const state = async () => (await machine.platform.call({ path: `/v1/apps/acme/machines/${machine.id}` })).json.state;
  const resumes = async () => (await events()).filter(({ type }: { type: string }) => type === 'resume').length;
  return { ...proxied, gate, suspend, state, resumes };
});

describe('a machine that is suspended', () => {
  test('is started once by any number of requests, and answers all of them', async () => {
    const { ask, suspend, resumes, state } = opened();
    await suspend();
    const before = await resumes();
    const bodies = Array.from({ length: 20 }, (_, index) => 'b'.repeat(index + 1));
    const answers = await Promise.all([
      ...bodies.map((body) => ask({ path: '/describe', method: 'POST', body })),
      ask({ path: '/describe', method: 'POST', body: 'c'.repeat(100_000) }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers.map(({ json }) => json.bytes)).toEqual([...bodies.map(({ length }) => length), 100_000]);
    expect([await state(), (await resumes()) - before]).toEqual(['running', 1]);
  });

  test('is woken by a WebSocket too', async () => {
    const { suspend, proxyPort } = opened();
    await suspend();
    const socket = new WebSocket(`ws://127.0.0.1:${proxyPort}/`, { headers: { host: SPRITE_HOST } });
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    socket.terminate();
  });

  test('is not woken by what may not come in', async () => {
    const { ask, suspend, state, setUrl } = opened();
    await setUrl({ auth: 'sprite' });
    await suspend();
    const page = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const answers = [
      await ask({}),
      await ask({ headers: page }),
      await ask({ headers: { authorization: 'Bearer remora_org_no' } }),
      await ask({ path: '/.remora/callback' }),
      await ask({ host: 'other.example' }),
      await ask({ headers: { 'x-bomb': 'b'.repeat(40_000) } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 302, 401, 403, 421, 431]);
    expect(await state()).toBe('suspended');
    await setUrl({ auth: 'public' });
    expect((await ask({})).status).toBe(200);
  });

  test('a request in flight when it is suspended is answered or sent once', async () => {
    const { ask, suspend } = opened();
    const post = ask({ path: '/slow?ms=1500&n=post', method: 'POST' }).then(
      ({ status }) => status,
      () => 'broken off',
    );
    const get = ask({ path: '/slow?ms=1500&n=get' });
    await eventually(async () => (await ask({ path: '/arrivals' })).text.includes('n=get'));
    await suspend();
    expect((await get).text).toBe('late');
    expect([200, 502, 'broken off']).toContain(await post);
    const { arrivals } = JSON.parse((await ask({ path: '/arrivals' })).text);
    expect(arrivals.filter(({ url }: { url: string }) => url.includes('n=post'))).toHaveLength(1);
  });
});

describe('a machine that is stopped', () => {
  test('keeps a browser waiting for two seconds, then shows a page that loads again, and others wait', async () => {
    const { ask, machine, gate, state } = opened();
    expect((await machine.post('stop')).status).toBe(200);
    await machine.wait('state=stopped');
    rmSync(gate);
    const browser = await ask({
      headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    });
    expect([browser.status, browser.headers.refresh, browser.headers['retry-after']]).toEqual([503, '2', '2']);
    expect(browser.text).toContain('Starting');
    const program = ask({});
    expect(existsSync(gate)).toBe(false);
    expect(await state()).toBe('starting');
    writeFileSync(gate, '');
    expect((await program).status).toBe(200);
  });

  test('a service that somebody has stopped is not started by a request', async () => {
    const { ask, platform } = opened();
    const stopped = await platform.call({ method: 'POST', path: '/v1/sprites/dev-1/services/web/stop' });
    expect(stopped.status).toBe(200);
    const answer = await eventually(async () => {
      const got = await ask({});
      return got.status === 503 ? got : undefined;
    });
    expect(answer.json).toMatchObject({ error: 'service_stopped', details: { service: 'web', state: 'stopped' } });
    await platform.call({ method: 'POST', path: '/v1/sprites/dev-1/services/web/start?duration=0s' });
    await eventually(async () => (await ask({})).status === 200);
  });
});

describe('how many wait, and how long', () => {
  const machine = { id: 'm', sprite_id: 's', host: null, state: 'stopped', config: {} } as unknown as MachineRow;
  const never = new AbortController().signal;
  const elsewhere = { connect: async () => new PassThrough() };
  const open = (ensureRunning: () => Promise<void>, held_ms = 30_000) => {
    const failures: unknown[] = [];
    const ways = new MachineWays({
      channels: {
        find: () => undefined,
        wait: async () => ({ connect: async () => new PassThrough() }) as unknown as ChannelSession,
      },
      changes: { subscribe: () => undefined },
      ensureRunning,
      trustMachines: true,
      host: 'local',
      onFailure: (_machine, error) => failures.push(error),
      others: { holderOf: async () => 'third', reach: () => elsewhere },
      held_ms,
    });
    return { ways, failures };
  };

  test('one more than may wait is refused at once, and the others get the machine', async () => {
    const started = Promise.withResolvers<void>();
    let count = 0;
    const { ways } = open(async () => {
      count += 1;
      await started.promise;
    });
    const waiting = Array.from({ length: HELD_MAX }, () => ways.wake(machine, undefined, never));
    await expect(ways.wake(machine, undefined, never)).rejects.toMatchObject({
      code: 'not_reachable',
      retryAfter_ms: 5_000,
    });
    started.resolve();
    expect((await Promise.all(waiting)).length).toBe(HELD_MAX);
    expect(count).toBe(1);
    await ways.wake(machine, undefined, never);
    expect(count).toBe(2);
  });

  test('who waits for too long, and whose caller is gone, waits no more', async () => {
    const { ways } = open(() => new Promise(() => undefined), 30);
    await expect(ways.wake(machine, undefined, never)).rejects.toMatchObject({ code: 'not_reachable' });
    const gone = new AbortController();
    const waiting = ways.wake(machine, undefined, gone.signal);
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });

  test('what made a start fail is in the log, and in no answer', async () => {
    const cause = new Error('the last lines of its log: secret');
    const { ways, failures } = open(() => Promise.reject(cause));
    const error = await ways.wake(machine, undefined, never).catch((thrown: Error) => thrown);
    expect(String(error)).not.toContain('secret');
    expect(failures).toEqual([cause]);
    const foreign = new RemoraError('other_host', 'host-1 has it', { details: { host: 'host-1' } });
    const started = open(() => Promise.reject(foreign)).ways.wake(machine, undefined, never);
    await expect(started).rejects.toMatchObject({ code: 'not_reachable', details: undefined });
  });

  test('a machine of another process is reached there, and by a request that was passed on it is not', async () => {
    const { ways } = open(() => Promise.reject(new Error('it was started here')));
    const foreign = { ...machine, host: 'other', state: 'running' } as MachineRow;
    expect(ways.find(foreign, 80)).toBe(elsewhere);
    expect(ways.find({ ...foreign, state: 'suspended' }, 80)).toBeUndefined();
    expect(await ways.wake({ ...foreign, state: 'suspended' }, 80, never)).toBe(elsewhere);
    await expect(ways.reachHere(foreign, 80, never)).rejects.toMatchObject({ code: 'other_host' });
    const external = { ...machine, config: { external: true } } as MachineRow;
    expect(await ways.wake(external, 80, never)).toBe(elsewhere);
    expect(await ways.reachHere(external, 80, never)).not.toBe(elsewhere);
  });
});
