import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readProcessStart } from '../../../src/linux/processes/process-start.ts';
import { ask } from '../../support/ask.ts';
import { openFreePort } from '../../support/free-port.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { type PortsAgent, startPortsAgent } from '../../support/ports-agent.ts';
import { type LineReader, readLines } from '../../support/read-lines.ts';
import { signalRunning } from '../../support/signal-running.ts';

interface Watch extends LineReader {
  /** The next message about one of these ports; what other processes of the machine do is skipped. */
  about(...ports: number[]): Promise<Record<string, unknown>>;
}

async function watch(agent: PortsAgent, path = '/v1/ports/watch'): Promise<Watch> {
  const reader = await readLines(path, agent.socketPath);
  async function about(...ports: number[]): Promise<Record<string, unknown>> {
    for (;;) {
      const line = await reader.next();
      if (ports.includes(Number(line.port))) return line;
    }
  }
  return { ...reader, about };
}

async function listed(agent: PortsAgent, port: number): Promise<unknown> {
  const { json } = await ask(agent.socketPath, { target: '/v1/ports' });
  const report = json as { ports: { port: number }[] };
  return report.ports.find((open) => open.port === port);
}

async function leftOut(agent: PortsAgent, port: number): Promise<unknown> {
  const { json } = await ask(agent.socketPath, { target: '/v1/ports' });
  const report = json as { left_out: { port: number }[] };
  return report.left_out.find((open) => open.port === port);
}

/** The types of all events of a port that the agent has published. */
function published(agent: PortsAgent, port: number): string[] {
  return agent.events.filter((event) => event.port === port).map((event) => event.type);
}

describe('watching the ports', () => {
  it('gives the list first, then each port that opens and closes in the shape of the document', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const before = await child.listen();
    const reader = await watch(agent);
    const list = await reader.next();
    expect(list.type).toBe('port_list');
    expect(list.ports).toContainEqual(expect.objectContaining({ port: before, pid: child.pid }));
    const port = await child.listen();
    const message = { port, address: `http://dev-1:${port}`, pid: child.pid };
    expect(await reader.about(port)).toEqual({ type: 'port_opened', ...message });
    expect(await listed(agent, port)).toEqual({
      ...message,
      command: 'node',
      start_ticks: Number(readProcessStart('/proc', child.pid)),
      uid: process.getuid?.(),
      addresses: ['127.0.0.1'],
      class: 'app',
    });
    await child.close(port);
    expect(await reader.about(port)).toEqual({ type: 'port_closed', ...message });
    expect(await listed(agent, port)).toBeUndefined();
    expect(published(agent, port)).toEqual(['port_opened', 'port_closed']);
    expect(agent.board.statuses().ports).toMatchObject({ state: 'ok' });
  });

  it('closes every port of a process that is killed', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const ports = [await child.listen(), await child.listen({ host: '0.0.0.0' })];
    const reader = await watch(agent);
    await reader.next();
    await child.kill();
    // A scan may come between the ends of the two.
    const closed = [await reader.about(...ports), await reader.about(...ports)];
    expect(closed.map(({ type, port, pid }) => [type, port, pid])).toEqual(
      expect.arrayContaining(ports.map((port) => ['port_closed', port, child.pid])),
    );
  });

  it('sees a web server of another language come and go', async () => {
    const agent = await startPortsAgent();
    const reader = await watch(agent);
    const server = spawn('python3', ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => {
      server.kill('SIGKILL');
    });
    const [text] = await once(server.stdout, 'data');
    const port = Number(/port (\d+)/.exec(String(text))?.[1]);
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened', pid: server.pid });
    expect(await listed(agent, port)).toMatchObject({ command: expect.stringMatching(/^python/) });
    server.kill('SIGTERM');
    expect(await reader.about(port)).toMatchObject({ type: 'port_closed', pid: server.pid });
  });

  it('sends events when the caller accepts those', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await child.listen();
    const headers = { accept: 'text/event-stream' };
    const text = await new Promise<string>((resolve) => {
      // The stream does not end by itself, so the first event is all that is read.
      import('node:http').then(({ get }) => {
        const call = get({ socketPath: agent.socketPath, path: '/v1/ports/watch', headers }, (response) => {
          response.once('data', (chunk: Buffer) => {
            resolve(`${response.headers['content-type']} ${chunk}`);
            call.destroy();
          });
        });
      });
    });
    expect(text).toMatch(/^text\/event-stream data: \{"type":"port_list","ports":\[/);
    expect(text).toContain(`"port":${port},`);
  });

  it('serves the path of the platform for this sprite only', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const reader = await watch(agent, '/v1/sprites/dev-1/ports/watch');
    expect(await reader.next()).toMatchObject({ type: 'port_list' });
    const port = await child.listen();
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened' });
    const refused = await ask(agent.socketPath, { target: '/v1/sprites/dev-2/ports/watch' });
    expect(refused).toMatchObject({ status: 404, json: { error: 'not_found' } });
  });

  it('loses no listener that opens while a watch begins', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const runs = Array.from({ length: 12 }, async () => {
      const [reader, port] = await Promise.all([watch(agent), child.listen()]);
      const list = await reader.next();
      const inList = (list.ports as { port: number }[]).some((open) => open.port === port);
      if (!inList) expect(await reader.about(port)).toMatchObject({ type: 'port_opened', pid: child.pid });
      await child.close(port);
      expect(await reader.about(port)).toMatchObject({ type: 'port_closed' });
      expect(published(agent, port)).toEqual(['port_opened', 'port_closed']);
    });
    await Promise.all(runs);
  });
});

describe('what counts as one port', () => {
  it.each([
    ['only IPv6', { host: '::', ipv6Only: true }, ['::']],
    ['dual stack', { host: '::' }, ['::']],
    ['IPv6 loopback', { host: '::1' }, ['::1']],
    ['a v4-mapped address', { host: '::ffff:127.0.0.1' }, ['127.0.0.1']],
    ['another loopback address', { host: '127.0.0.53' }, ['127.0.0.53']],
    ['any IPv4 address', { host: '0.0.0.0' }, ['0.0.0.0']],
  ])('%s', async (_name, options, addresses) => {
    const [agent, child] = await Promise.all([
      startPortsAgent({ config: { portAddress: 'bind' } }),
      startListenerProcess(),
    ]);
    const reader = await watch(agent);
    const port = await child.listen(options);
    const message = { port, address: addresses[0], pid: child.pid };
    expect(await reader.about(port)).toEqual({ type: 'port_opened', ...message });
    expect(await listed(agent, port)).toMatchObject({ addresses });
    await child.close(port);
    expect(await reader.about(port)).toEqual({ type: 'port_closed', ...message });
    expect(published(agent, port)).toEqual(['port_opened', 'port_closed']);
  });

  it('several addresses of one process', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const reader = await watch(agent);
    const port = await child.listen({ host: '127.0.0.1' });
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened' });
    await child.listen({ host: '127.0.0.2', port });
    await child.listen({ host: '::1', port });
    await expect
      .poll(() => listed(agent, port))
      .toMatchObject({ pid: child.pid, addresses: ['127.0.0.1', '127.0.0.2', '::1'] });
    await child.close(port);
    await expect.poll(() => listed(agent, port)).toMatchObject({ addresses: ['127.0.0.2', '::1'] });
    await child.kill();
    expect(await reader.about(port)).toMatchObject({ type: 'port_closed', pid: child.pid });
    expect(published(agent, port)).toEqual(['port_opened', 'port_closed']);
  });

  it('two processes that share it with SO_REUSEPORT', async () => {
    const [agent, first, second] = await Promise.all([
      startPortsAgent(),
      startListenerProcess(),
      startListenerProcess(),
    ]);
    const reader = await watch(agent);
    const port = await first.listen({ reusePort: true });
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened', pid: first.pid });
    await second.listen({ reusePort: true, port });
    // The counters of the kernel do not change where a socket of somebody else is closed in the same moment. To an agent that has not seen
    // both, the end of the first is a close.
    await expect
      .poll(async () => {
        await agent.ports.freshen();
        return agent.ports.listening().get(port)?.sockets.length;
      })
      .toBe(2);
    expect(await listed(agent, port)).toMatchObject({ pid: first.pid });
    await first.kill();
    await expect.poll(() => listed(agent, port)).toMatchObject({ pid: second.pid });
    await second.kill();
    expect(await reader.about(port)).toMatchObject({ type: 'port_closed', pid: second.pid });
    expect(published(agent, port)).toEqual(['port_opened', 'port_closed']);
  });

  it('a listener that a child inherits and keeps when its parent exits', async () => {
    const [agent, parent] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const reader = await watch(agent);
    const port = await parent.listen();
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened', pid: parent.pid });
    const heir = await parent.handDown(port);
    expect(await listed(agent, port)).toMatchObject({ pid: parent.pid });
    await parent.kill();
    await expect.poll(() => listed(agent, port)).toMatchObject({ pid: heir, command: 'sleep' });
    expect(published(agent, port)).toEqual(['port_opened']);
    signalRunning(heir, 'SIGKILL');
    expect(await reader.about(port)).toMatchObject({ type: 'port_closed', pid: heir });
  });

  it('closed and opened again by the same process gives both, in that order', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const reader = await watch(agent);
    const port = await child.listen({ port: await openFreePort() });
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened' });
    await child.close(port);
    await child.listen({ port });
    expect(await reader.about(port)).toMatchObject({ type: 'port_closed' });
    expect(await reader.about(port)).toMatchObject({ type: 'port_opened', pid: child.pid });
  });

  it('a listener of a process with thousands of descriptors, and the one that its child got from it', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    await child.holdDescriptors(1_500);
    const port = await child.listen();
    await child.handDown(port);
    const reader = await watch(agent);
    expect((await reader.next()).ports).toContainEqual(expect.objectContaining({ port, pid: child.pid }));
    const other = await child.listen();
    expect(await reader.about(other)).toMatchObject({ type: 'port_opened', pid: child.pid });
  });

  it('each of many, beside connections that fill the table behind them', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const busy = await child.listen();
    const callers = Array.from({ length: 100 }, () => connect(busy, '127.0.0.1'));
    onTestFinished(() => {
      for (const caller of callers) caller.destroy();
    });
    await Promise.all(callers.map((caller) => once(caller, 'connect')));
    const ports = await Promise.all(Array.from({ length: 60 }, () => child.listen()));
    const { json } = await ask(agent.socketPath, { target: '/v1/ports' });
    const report = json as { ports: { port: number; pid: number }[] };
    const mine = report.ports.filter(({ pid }) => pid === child.pid).map(({ port }) => port);
    expect(mine.sort((a, b) => a - b)).toEqual([busy, ...ports].sort((a, b) => a - b));
  });

  it('none that the settings leave out, and they can be waited for all the same', async () => {
    const [child, other] = await Promise.all([startListenerProcess(), startListenerProcess()]);
    const [port, told] = [await child.listen(), await other.listen()];
    const agent = await startPortsAgent({ config: { portsIgnore: { ranges: [[port, port]], system: false } } });
    expect(await listed(agent, told)).toBeDefined();
    expect(await listed(agent, port)).toBeUndefined();
    expect(await leftOut(agent, port)).toMatchObject({ class: 'ignored', pid: child.pid, command: 'node' });
    expect(published(agent, port)).toEqual([]);
    expect([...agent.ports.listening().keys()]).toEqual(expect.arrayContaining([port, told]));
    const answer = await ask(agent.socketPath, { target: `/v1/ports/${port}/wait` });
    expect(answer).toMatchObject({ status: 200, json: { listener: { port } } });
    const reader = await watch(agent);
    expect((await reader.next()).ports).not.toContainEqual(expect.objectContaining({ port }));
  });

  it("never the agent's own", async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const own = createServer();
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      own.close();
    });
    const address = own.address();
    const ownPort = typeof address === 'object' && address !== null ? address.port : 0;
    const port = await child.listen();
    expect(await listed(agent, port)).toBeDefined();
    expect(await listed(agent, ownPort)).toBeUndefined();
    expect(await leftOut(agent, ownPort)).toMatchObject({ class: 'own', pid: process.pid });
    expect(published(agent, ownPort)).toEqual([]);
  });
});

it('keeps events and scans bounded while a thousand listeners come and go in a second', async () => {
  const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
  const lasting = [await child.listen(), await child.listen(), await child.listen()];
  const reader = await watch(agent);
  await reader.next();
  const before = agent.ports.status();
  const start_ms = performance.now();
  await child.flap(1_000, 20);
  const spent_ms = performance.now() - start_ms;
  const after = agent.ports.status();
  const last = await child.listen();
  expect(await reader.about(last)).toMatchObject({ type: 'port_opened' });
  const scans = (after.scans ?? 0) - (before.scans ?? 0);
  expect(scans).toBeLessThanOrEqual(Math.ceil(spent_ms / 250) + 1);
  // Other tests of this machine open and close ports as well.
  const events = agent.events.filter(({ port, pid }) => pid === child.pid && port !== last);
  expect(events.length).toBeLessThanOrEqual(lasting.length + (scans + 1) * 40);
  const byPort = Map.groupBy(events, (event) => event.port);
  for (const port of lasting) expect(published(agent, port)).toEqual(['port_opened']);
  for (const [port, events] of byPort) {
    const types = events.map((event) => event.type);
    types.forEach((type, index) => {
      expect(type, `event ${index} of port ${port}`).toBe(index % 2 === 0 ? 'port_opened' : 'port_closed');
    });
  }
});

it('scans at once after a resume, closed before opened', async () => {
  const [agent, child] = await Promise.all([
    startPortsAgent({ config: { period_ms: 3_600_000 } }),
    startListenerProcess(),
  ]);
  const first = await child.listen();
  await agent.ports.recover();
  await child.close(first);
  const second = await child.listen();
  await agent.ports.recover();
  const mine = agent.events.filter(({ port }) => port === first || port === second);
  expect(mine.map(({ type, port }) => [type, port])).toEqual([
    ['port_opened', first],
    ['port_closed', first],
    ['port_opened', second],
  ]);
});
