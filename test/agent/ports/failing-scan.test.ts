import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ask } from '../../support/ask.ts';
import { type FakeProc, header, makeProc } from '../../support/fake-proc.ts';
import { type PortsAgent, startPortsAgent } from '../../support/ports-agent.ts';

/** An agent that scans this table only when it is told to. */
function startOn(proc: FakeProc): Promise<PortsAgent> {
  return startPortsAgent({ config: { procRoot: proc.root, period_ms: 3_600_000 } });
}

function said(agent: PortsAgent): string[] {
  return agent.events.map((event) => `${event.type} ${event.port} ${event.pid}`);
}

describe('a table that cannot be read', () => {
  it('from the start: no list, no watch, no wait, and the reason everywhere', async () => {
    const proc = makeProc();
    const agent = await startOn(proc);
    for (const target of ['/v1/ports', '/v1/ports/watch', '/v1/ports/80/wait?until=closed']) {
      const answer = await ask(agent.socketPath, { target });
      expect(answer, target).toMatchObject({ status: 503, json: { error: 'not_ready' } });
      expect(answer.text).toContain('/net/tcp cannot be read: ENOENT');
    }
    expect(agent.board.statuses().ports).toMatchObject({ state: 'failed', reason: expect.stringContaining('ENOENT') });
    proc.listen(80);
    proc.hold(80);
    expect(await ask(agent.socketPath, { target: '/v1/ports' })).toMatchObject({ json: { ports: [{ port: 80 }] } });
    expect(agent.board.statuses().ports).toMatchObject({ state: 'ok' });
  });

  it.each([
    ['cut in the middle of a row', (proc: FakeProc) => proc.writeTable(`${header}   0: 0100007F:00`)],
    ['empty', (proc: FakeProc) => proc.writeTable('')],
    ['damaged', (proc: FakeProc) => proc.writeTable(`${header}what is this\n`)],
  ])('later, because it is %s: nothing closes, and the state says so', async (_name, damage) => {
    const proc = makeProc();
    proc.listen(80, 81);
    proc.hold(80);
    proc.hold(81);
    const agent = await startOn(proc);
    await agent.ports.recover();
    damage(proc);
    await expect(agent.ports.recover()).rejects.toMatchObject({ code: 'not_ready' });
    const { json } = await ask(agent.socketPath, { target: '/v1/ports' });
    expect(json).toMatchObject({
      ports: [{ port: 80 }, { port: 81 }],
      problem: expect.stringContaining('/net/tcp cannot be read'),
    });
    expect(agent.board.statuses().ports).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('cannot be read'),
    });
    expect(await ask(agent.socketPath, { target: '/v1/ports/80/wait?until=closed' })).toMatchObject({ status: 503 });
    proc.listen(81);
    await agent.ports.recover();
    expect(said(agent)).toEqual(['port_opened 80 100', 'port_opened 81 100', 'port_closed 80 100']);
    expect(agent.board.statuses().ports).toMatchObject({ state: 'ok' });
  });

  it('for IPv6 alone: the IPv4 listeners stay as they were', async () => {
    const proc = makeProc();
    proc.listen(80);
    proc.hold(80);
    const agent = await startOn(proc);
    await agent.ports.recover();
    proc.listen();
    writeFileSync(join(proc.root, 'net', 'tcp6'), 'nothing of use');
    await expect(agent.ports.recover()).rejects.toThrow(/tcp6 cannot be read/);
    expect(said(agent)).toEqual(['port_opened 80 100']);
    rmSync(join(proc.root, 'net', 'tcp6'));
    await agent.ports.recover();
    expect(said(agent)).toEqual(['port_opened 80 100', 'port_closed 80 100']);
  });
});

describe('a process that cannot be seen', () => {
  it('at first: one event, with its pid', async () => {
    const proc = makeProc();
    proc.listen(80);
    const agent = await startOn(proc);
    await agent.ports.recover();
    expect(said(agent)).toEqual([]);
    expect(await ask(agent.socketPath, { target: '/v1/ports' })).toMatchObject({ json: { ports: [] } });
    proc.hold(80);
    await agent.ports.recover();
    expect(said(agent)).toEqual(['port_opened 80 100']);
  });

  it('ever: one event with pid 0, and the pid as soon as it is known', async () => {
    const proc = makeProc();
    proc.listen(80);
    const agent = await startOn(proc);
    for (let scan = 0; scan < 4; scan += 1) await agent.ports.recover();
    expect(said(agent)).toEqual(['port_opened 80 0']);
    proc.hold(80);
    const seen = () => agent.ports.recover().then(() => ask(agent.socketPath, { target: '/v1/ports' }));
    await expect.poll(seen).toMatchObject({ json: { ports: [{ port: 80, pid: 100, command: 'server' }] } });
    expect(said(agent)).toEqual(['port_opened 80 0']);
  });
});

it('announces a listener that the table missed once as closed and opened, and watches it again', async () => {
  const proc = makeProc();
  proc.listen(80, 81);
  proc.hold(80);
  proc.hold(81);
  const agent = await startOn(proc);
  await agent.ports.recover();
  proc.listen(80);
  await agent.ports.recover();
  expect(said(agent)).toEqual(['port_opened 80 100', 'port_opened 81 100', 'port_closed 81 100']);
  proc.listen(80, 81);
  await agent.ports.recover();
  expect(said(agent).at(-1)).toBe('port_opened 81 100');
  proc.listen(80);
  await agent.ports.recover();
  expect(said(agent).at(-1)).toBe('port_closed 81 100');
});
