// The port watcher of `@fly/sprites`, as it is, against the loopback listener of a real agent.
import { SpritesClient } from '@fly/sprites';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { type AgentProcess, startAgent } from '../../support/agent-process.ts';
import { eventually } from '../../support/eventually.ts';
import { startListenerProcess } from '../../support/listener-process.ts';

const made = z.object({ token: z.string() });

async function openDoor(agent: AgentProcess): Promise<{ url: string; token: string }> {
  const address = await eventually(() => /"(127\.0\.0\.1:\d+)"/.exec(agent.log())?.[1]);
  const headers = { 'content-type': 'application/json' };
  const answer = await agent.ask({ method: 'POST', target: '/v1/gateway/tokens', headers, body: '{}' });
  return { url: `http://${address}`, token: made.parse(answer.json).token };
}

describe('the port watcher of @fly/sprites', () => {
  it('gets the list, then what opens and closes', async () => {
    const [agent, child] = await Promise.all([
      startAgent({ REMORA_LISTEN: '127.0.0.1:0', REMORA_SPRITE: 'dev-1' }),
      startListenerProcess(),
    ]);
    const before = await child.listen();
    const { url, token } = await openDoor(agent);
    const watcher = await new SpritesClient(token, { baseURL: url }).sprite('dev-1').watchPorts();
    onTestFinished(() => watcher.close());
    const list = await watcher.next();
    expect(list).toMatchObject({ type: 'port_list' });
    expect(list).toHaveProperty('ports', expect.arrayContaining([expect.objectContaining({ port: before })]));
    const about = async (port: number) => {
      for (;;) {
        const event = await watcher.next();
        if (event === null || ('port' in event && event.port === port)) return event;
      }
    };
    const port = await child.listen();
    const message = { port, address: `http://dev-1:${port}`, pid: child.pid };
    expect(await about(port)).toEqual({ type: 'port_opened', ...message });
    await child.close(port);
    expect(await about(port)).toEqual({ type: 'port_closed', ...message });
  });

  it('ends when the agent stops, and is refused with a token that is not good and for another sprite', async () => {
    const agent = await startAgent({ REMORA_LISTEN: '127.0.0.1:0', REMORA_SPRITE: 'dev-1' });
    const { url, token } = await openDoor(agent);
    await expect(new SpritesClient('wrong', { baseURL: url }).sprite('dev-1').watchPorts()).rejects.toThrow(
      /WebSocket/,
    );
    await expect(new SpritesClient(token, { baseURL: url }).sprite('dev-2').watchPorts()).rejects.toThrow(/WebSocket/);
    const watcher = await new SpritesClient(token, { baseURL: url }).sprite('dev-1').watchPorts();
    expect(await watcher.next()).toMatchObject({ type: 'port_list' });
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
    while ((await watcher.next()) !== null);
    expect(watcher.isClosed()).toBe(true);
  });
});
