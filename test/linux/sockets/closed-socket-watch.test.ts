import { spawnSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClosedSocketWatch } from '../../../src/linux/sockets/closed-socket-watch.ts';
import { eventually } from '../../support/eventually.ts';
import { startListenerProcess } from '../../support/listener-process.ts';
import { startPortsAgent } from '../../support/ports-agent.ts';

const hasSs = spawnSync('stdbuf', ['-oL', 'ss', '-V']).status === 0;

function open(command: readonly string[]) {
  const closed: number[] = [];
  const push = createClosedSocketWatch({ command, onClosed: (port) => closed.push(port) });
  onTestFinished(() => push[Symbol.asyncDispose]());
  push.start();
  return { push, closed };
}

describe('hearing what closes', () => {
  it.skipIf(!hasSs)('notices a closed port although the next look is an hour away', async () => {
    const [agent, child] = await Promise.all([
      startPortsAgent({ config: { portsPush: 'ss', period_ms: 3_600_000 } }),
      startListenerProcess(),
    ]);
    const port = await child.listen();
    await agent.ports.recover();
    const types = () => agent.events.filter((event) => event.port === port).map(({ type }) => type);
    expect(types()).toEqual(['port_opened']);
    expect(agent.ports.status().push).toEqual({ state: 'listening' });
    // A closing before the helper has subscribed is not heard: others are closed until one is.
    await expect
      .poll(async () => {
        const other = await child.listen();
        await agent.ports.recover();
        await child.close(other);
        const isHeard = () => agent.events.some((event) => event.port === other && event.type === 'port_closed');
        return await eventually(isHeard, 1_000).catch(() => false);
      })
      .toBe(true);
    await child.close(port);
    await expect.poll(types).toEqual(['port_opened', 'port_closed']);
  });

  it('passes on ports and nothing else, and ends with its helper', async () => {
    const lines = 'UNCONN 0 0 127.0.0.1:81 0.0.0.0:*\\nwhat\\nUNCONN 0 0 127.0.0.1:82 127.0.0.1:83\\n';
    const { push, closed } = open(['sh', '-c', `printf '${lines}'; exec sleep 60`]);
    await expect.poll(() => closed).toEqual([81]);
    expect(push.status()).toEqual({ state: 'listening' });
    await push[Symbol.asyncDispose]();
    expect(push.status()).toEqual({ state: 'off' });
  });

  it.each([
    [['/nowhere/ss'], /ENOENT/],
    [['sh', '-c', 'exit 3'], /ended with 3/],
    // A line without an end.
    [['cat', '/dev/zero'], /ended with SIGTERM/],
  ])('does without where %j cannot run, and says why', async (command, reason) => {
    const { push } = open(command);
    await expect.poll(() => push.status()).toEqual({ state: 'absent', reason: expect.stringMatching(reason) });
  });

  it('is off unless the settings ask for it', async () => {
    const agent = await startPortsAgent();
    expect(agent.ports.status().push).toEqual({ state: 'off' });
  });
});
