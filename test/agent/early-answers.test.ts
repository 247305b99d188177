// What is answered while the parts of the agent are not open yet: health, where nobody is asked for a token. Everything else waits.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createAgentEdge } from '../../src/agent/agent-edge.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { LoopWatch } from '../../src/http/loop-watch.ts';
import { ask } from '../support/ask.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

test('health is answered, and what needs a part waits until it is served or refused', async () => {
  const dir = tempDir();
  const loop = new LoopWatch(() => undefined);
  const { edge, giveUp } = createAgentEdge({ loop, log: silentLog });
  onTestFinished(() => edge[Symbol.asyncDispose]());
  const listen = async (name: 'socket' | 'readonly' | 'loopback') => {
    const path = join(dir, name);
    await listenOnPath(edge.createServer(name), { path, mode: 0o600 });
    return path;
  };
  const [socket, readonly, loopback] = [await listen('socket'), await listen('readonly'), await listen('loopback')];

  let isAnswered = false;
  const waiting = [
    ask(socket, { target: '/v1/ready' }),
    ask(readonly, { target: '/v1/status' }),
    // A token is asked for there, and tokens are with a part.
    ask(loopback, { target: '/v1/health' }),
  ];
  for (const each of waiting) void each.then(() => (isAnswered = true));
  for (const path of [socket, readonly, socket, readonly]) {
    expect(await ask(path, { target: '/v1/health' })).toMatchObject({ status: 200, json: { status: 'ok' } });
  }
  expect(isAnswered).toBe(false);
  expect((await ask(socket, { target: '/nowhere' })).status).toBe(404);

  giveUp(new RemoraError('shutting_down', 'the agent is stopping; try again', { retryAfter_ms: 1_000 }));
  for (const { status, json } of await Promise.all(waiting)) {
    expect([status, json]).toMatchObject([503, { error: 'shutting_down' }]);
  }
});
