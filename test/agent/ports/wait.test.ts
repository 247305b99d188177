import { describe, expect, it } from 'vitest';
import { ask } from '../../support/ask.ts';
import { openFreePort } from '../../support/free-port.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { startPortsAgent } from '../../support/ports-agent.ts';

describe('waiting for a port', () => {
  it('answers at once when it is so already', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await child.listen();
    const listening = await ask(agent.socketPath, { target: `/v1/ports/${port}/wait` });
    expect(listening).toMatchObject({
      status: 200,
      json: { ok: true, until: 'listen', listener: { port, pid: child.pid } },
    });
    await child.close(port);
    const closed = await ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=closed` });
    expect(closed).toMatchObject({ status: 200, json: { ok: true, until: 'closed', listener: null } });
  });

  it('answers when it becomes so, and not before', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await openFreePort();
    let answered = false;
    const wait = ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=listen` }).then((answer) => {
      answered = true;
      return answer;
    });
    await ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=closed` });
    expect(answered).toBe(false);
    await child.listen({ port });
    expect(await wait).toMatchObject({ status: 200, json: { listener: { port } } });
    const closing = ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=closed` });
    await child.close(port);
    expect(await closing).toMatchObject({ status: 200 });
  });

  it('tells a port that listens from one that answers HTTP', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await child.listen({ port: await openFreePort() });
    const silent = await ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=http&timeout=500ms` });
    expect(silent).toMatchObject({ status: 408, json: { error: 'timeout' } });
    const wait = ask(agent.socketPath, { target: `/v1/ports/${port}/wait?until=http` });
    await child.close(port);
    await child.listen({ port, host: '::' }, true);
    expect(await wait).toMatchObject({ status: 200, json: { until: 'http', listener: { addresses: ['::'] } } });
  });

  it('answers 408 when the time is up', async () => {
    const agent = await startPortsAgent();
    const port = await openFreePort();
    for (const query of ['timeout=0', 'timeout=-5', 'timeout=0.3', 'timeout=300ms']) {
      const answer = await ask(agent.socketPath, { target: `/v1/ports/${port}/wait?${query}` });
      expect(answer, query).toMatchObject({ status: 408, json: { error: 'timeout' } });
    }
  });

  it.each([
    '/v1/ports/0/wait',
    '/v1/ports/65536/wait',
    '/v1/ports/http/wait',
    '/v1/ports/80.5/wait',
    '/v1/ports/80/wait?until=open',
    '/v1/ports/80/wait?timeout=soon',
    '/v1/ports/80/wait?timeout=NaN',
  ])('refuses %s', async (target) => {
    const agent = await startPortsAgent();
    expect(await ask(agent.socketPath, { target })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
});
