import { describe, expect, it } from 'vitest';
import { ATTENTIVE_MS } from '../../src/core/ports/scan-pace.ts';
import { startChild } from '../support/child-lines.ts';
import { openFreePort } from '../support/free-port.ts';
import { startListenerProcess } from '../support/listener-process.ts';
import { startPortsAgent } from '../support/ports-agent.ts';
import { remoraPath, runRemora } from '../support/run-remora.ts';

describe('remora wait port', () => {
  it('ends when the port listens, and when it is closed', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const port = await openFreePort();
    const words = ['wait', `port:${port}`, '--socket', agent.socketPath];
    const listens = runRemora(words);
    // Looking more often says that somebody waits.
    await expect.poll(() => agent.ports.status().period_ms).toBe(ATTENTIVE_MS);
    await child.listen({ port });
    const run = await listens;
    expect(run.stdout).toMatch(
      new RegExp(`^port ${port} listens  pid ${child.pid}  node  http://dev-1:${port}  after `),
    );
    expect(run.code).toBe(0);
    await child.close(port);
    const closed = await runRemora([...words, '--until', 'closed', '--json']);
    expect(JSON.parse(closed.stdout)).toMatchObject({ ok: true, until: 'closed', listener: null });
  });

  it('ends with 1 when the time is over', async () => {
    const agent = await startPortsAgent();
    const port = await openFreePort();
    const run = await runRemora(['wait', `port:${port}`, '--timeout', '100ms', '--socket', agent.socketPath]);
    expect(run.code).toBe(1);
    expect(run.stderr).toContain(`port ${port} did not listen within 100 ms`);
  });
});

describe('remora ports', () => {
  it('lists the open ports, and names those that are not announced', async () => {
    const child = await startListenerProcess();
    const [port, ignored] = [await child.listen(), await child.listen()];
    const agent = await startPortsAgent({ config: { portsIgnore: { ranges: [[ignored, ignored]], system: false } } });
    const run = await runRemora(['ports', '--socket', agent.socketPath]);
    expect(run.stdout).toMatch(new RegExp(`^${port} +${child.pid} +node +127\\.0\\.0\\.1 `, 'm'));
    expect(run.stdout).not.toMatch(new RegExp(`^${ignored} `, 'm'));
    expect(run.stderr).toContain(`${ignored} (ignored)`);
  });
});

describe('remora ports --watch', () => {
  it('prints the list, then each port that opens and closes', async () => {
    const [agent, child] = await Promise.all([startPortsAgent(), startListenerProcess()]);
    const before = await child.listen();
    const watch = startChild(process.execPath, [remoraPath, 'ports', '--watch', '--socket', agent.socketPath]);
    await watch.line(new RegExp(`^${before} +${child.pid} +node `));
    const port = await child.listen();
    await watch.line(new RegExp(`^opened +${port} +pid ${child.pid} `));
    await child.close(port);
    await watch.line(new RegExp(`^closed +${port} +pid ${child.pid} `));
  });
});
