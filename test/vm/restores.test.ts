// What an agent does in a machine whose memory came from a file, on a kernel with and on one without the driver of the generation device.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { tx } from '../support/scripted-node.ts';
import { bootGolden, type RunningGuest } from '../support/vm/golden-guest.ts';
import { CONNECTOR_PATH, type Doors } from '../support/vm/guest-world.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';
import { awaitResumed, listGenerations, ofType, readUptime_s } from '../support/vm/watch-restores.ts';

const BOOT_LIMIT_MS = 600_000;
const LIMIT_MS = 120_000;
/** The hardware clock counts seconds, and is looked at every few. */
const CLOCK_MS = 3_000;
const PAUSE_MS = 5_000;
const HOLD_S = 600;
const DB = 'app.db';
const CALLS = '/run/calls';

const seconds = async (running: RunningGuest, more: number) => {
  const end_s = (await readUptime_s(running)) + more;
  await eventually(async () => (await readUptime_s(running)) >= end_s, LIMIT_MS);
};

describe.skipIf(isWithoutMachines()).each(['6.12', '6.1'] as const)('kernel %s', { timeout: LIMIT_MS }, (series) => {
  const before = { ports: [] as string[], hold_s: 0, uptime_s: 0, tokenEnds: '' };
  /** The local ports of the connections to the platform and the node that the guest takes for open. */
  const listPorts = async ({ guest }: RunningGuest, { platform, node }: Doors) => {
    const to = [platform, node].map(({ url }) => `dport = :${new URL(url).port}`).join(' or ');
    const lines = await guest.run(`ss -Htn state established '( ${to} )' | awk '{ print $3 }' | sed 's/.*://'`);
    return lines.split('\n').filter((line) => line !== '');
  };

  const golden = openOnce(
    () =>
      bootGolden(series, {
        async prepare({ agent }, stream) {
          stream.send(tx(DB, 0x10));
          await eventually(async () => (await agent.get(`/v1/replication/${DB}`)).json.state === 'live', LIMIT_MS);
          await agent.ask('/v1/tasks', { method: 'POST', body: { name: 'build', expire: HOLD_S } });
          await agent.ask('/v1/gateway/tokens', { method: 'POST', body: { expire: 3_600 } });
          expect(await agent.get(`${CONNECTOR_PATH}/before`)).toMatchObject({ text: 'ok' });
        },
        async beforeSave(running, doors) {
          const { agent } = running;
          before.ports = await listPorts(running, doors);
          before.tokenEnds = (await agent.get('/v1/gateway/tokens')).json.tokens[0].expires_at;
          before.hold_s = (await agent.get('/v1/tasks/build')).json.expire;
          before.uptime_s = await readUptime_s(running);
        },
      }),
    BOOT_LIMIT_MS,
  );

  describe('a machine that was restored', () => {
    const restored = openOnce(async () => {
      const running = await golden().restore();
      const stream = await running.node.next(LIMIT_MS);
      stream.open();
      stream.send(tx(DB, 0x15));
      const [first] = await awaitResumed(running);
      return { ...running, first };
    }, LIMIT_MS);

    it('says so once, for certain, and how long it was away', async () => {
      const { agent, guest, first, away_ms } = restored();
      expect(first).toMatchObject({ cause: 'restore', certainty: 'certain', restores: 1, generation: 1 });
      expect(golden().generation).toBe(0);
      expect(Math.abs(Number(first?.gap_ms) - away_ms)).toBeLessThan(CLOCK_MS);
      expect(Math.abs(Number(first?.wall_skew_ms) - away_ms)).toBeLessThan(CLOCK_MS);
      const { json: status } = await agent.get('/v1/status');
      expect(status).toMatchObject({ generation: 1, details: { resume: { boot_id: golden().boot_id } } });
      expect(status.incarnation).not.toBe(golden().incarnation);
      expect(await guest.run('cat /run/remora/generation; stat -c %a /run/remora/generation')).toBe('1\n644\n');
    });

    it('is one machine of its generation in everything that it sends', async () => {
      const generations = listGenerations(golden().doors.platform.passages);
      expect(generations.length).toBeGreaterThan(3);
      expect([...new Set(generations)]).toEqual([1]);
      const { json } = await restored().agent.get('/v1/status');
      expect(json.details.report).toMatchObject({ ok: true });
      expect(json.parts).toMatchObject({
        gateway: { state: 'ok' },
        channel: { state: 'ok' },
        replication: { state: 'ok' },
      });
    });

    it('has its first call of a kept connection answered by the provider', async () => {
      const { agent, provider } = restored();
      expect(await agent.ask(`${CONNECTOR_PATH}/after`)).toMatchObject({ status: 200, text: 'ok' });
      expect(provider.requests.map((request) => request.split('\r\n')[0])).toEqual(['GET /after HTTP/1.1']);
    });

    it('dials the quiet stream once, and records once what it missed', async () => {
      const { agent, node } = restored();
      const { json } = await agent.get(`/v1/replication/${DB}/wait?txid=15`);
      expect(json).toMatchObject({ txID: '0000000000000015', state: 'live' });
      const events = await agent.events(0, (all) => ofType(all, 'replication_gap').length > 0);
      const later = events.filter(({ generation }) => generation === 1);
      expect(ofType(later, 'replication_gap')).toMatchObject([
        { db: DB, from: '0000000000000011', to: '0000000000000014', cause: 'disconnected' },
      ]);
      expect(ofType(later, 'replication_connected')).toHaveLength(1);
      expect(ofType(later, 'replication_disconnected')).toHaveLength(1);
      expect([node.arrivals_ms.length, golden().doors.node.passages.length]).toEqual([1, 1]);
    });

    it('has let go of every connection that only looks open', async () => {
      expect(before.ports.length).toBeGreaterThan(2);
      const now = await listPorts(restored(), golden().doors);
      expect(now.filter((port) => before.ports.includes(port))).toEqual([]);
      expect(now.length).toBeGreaterThan(1);
    });

    it('has its holds with the run time that they had left', async () => {
      const { json } = await restored().agent.get('/v1/tasks/build');
      const ran_s = (await readUptime_s(restored())) - before.uptime_s;
      expect(Math.abs(before.hold_s - json.expire - ran_s)).toBeLessThan(2);
    });

    it('takes the correction of its clock for one, by as much as it is, and for no resume', async () => {
      const { agent, guest, away_ms } = restored();
      await guest.run('hwclock --hctosys --utc');
      await agent.events(0, (all) => ofType(all, 'clock_corrected').length > 0);
      await seconds(restored(), 12);
      const events = (await agent.events(0, () => true)).filter(({ generation }) => generation > 0);
      expect(ofType(events, 'clock_stepped')).toEqual([]);
      const [corrected, ...more] = ofType(events, 'clock_corrected');
      expect(more).toEqual([]);
      expect(Math.abs(Number(corrected?.step_ms) - away_ms)).toBeLessThan(CLOCK_MS);
      expect(ofType(events, 'resumed')).toHaveLength(1);
      expect((await agent.get('/v1/status')).json.generation).toBe(1);
    });

    it('ends a token at its wall time, which the correction brings nearer', async () => {
      const { agent, guest } = restored();
      const { json } = await agent.get('/v1/gateway/tokens');
      expect(json.tokens.map(({ expires_at }: { expires_at: string }) => expires_at)).toEqual([before.tokenEnds]);
      await guest.run(`date -u -s '${before.tokenEnds}' && date -s '+2 seconds'`);
      expect((await agent.get('/v1/gateway/tokens')).json.tokens).toEqual([]);
    });
  });

  it('serves each caller that waits at the gate once', async () => {
    const restored = await golden().restore();
    restored.node.onRequest((stream) => stream.open());
    const count = async ({ guest }: RunningGuest) => Number(await guest.run(`cat ${CALLS} 2> /dev/null | wc -l`));
    await awaitResumed(restored);
    const program = `/opt/remora/node_modules/.bin/node /opt/test/callers.ts 4 ${CONNECTOR_PATH} ${CALLS}`;
    await restored.guest.run(`systemd-run --quiet --unit callers ${program}`);
    await eventually(async () => (await count(restored)) >= 16, LIMIT_MS);

    const again = await golden().again(restored);
    const known = again.provider.requests.length;
    await eventually(() => again.provider.requests.length >= known + 16, LIMIT_MS);
    await again.guest.run('systemctl stop callers');
    const said = await again.guest.run(`cat ${CALLS}`);
    const calls = said
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    const arrivals = (target: string) =>
      again.provider.requests.filter((request) => request.includes(` /${target} HTTP/1.1\r\n`)).length;
    for (const { method, target, status, code } of calls) {
      const call = { target, status, code, arrivals: arrivals(target) };
      if (status === 200 && method === 'POST') expect(call).toMatchObject({ arrivals: 1 });
      else if (status === 200) expect([1, 2]).toContain(call.arrivals);
      else if (status === 503) expect(call).toMatchObject({ code: 'resuming', arrivals: 0 });
      else expect(call).toMatchObject({ status: 502, code: 'outcome_unknown' });
    }
    const twice = calls.filter(({ target }) => arrivals(target) > 1);
    const lost = calls.filter(({ status }) => status === 502);
    expect(twice.length + lost.length).toBeLessThanOrEqual(4);
    expect([...new Set(listGenerations(golden().doors.platform.passages))]).toEqual([2]);
  });

  it('counts a restore once in a machine with other work', async () => {
    const restored = await golden().restore();
    restored.node.onRequest((stream) => stream.open());
    await awaitResumed(restored);
    await restored.guest.run(`for n in 1 2 3; do systemd-run --quiet --unit work$n sh -c 'while :; do :; done'; done`);
    const again = await golden().again(restored);
    const resumed = await awaitResumed(again, 2);
    await seconds(again, 12);
    expect(resumed).toMatchObject([{ generation: 1 }, { generation: 2, cause: 'restore', certainty: 'certain' }]);
    await again.guest.run('systemctl stop work1 work2 work3');
    const { json } = await again.agent.get('/v1/status');
    expect([json.generation, json.details.report.ok]).toEqual([2, true]);
    expect(await awaitResumed(again, 2)).toHaveLength(2);
  });

  it('tells apart how it stood still in place, and says what no clock shows', async () => {
    const restored = await golden().restore();
    restored.node.onRequest((stream) => stream.open());
    const { agent, guest } = restored;
    await awaitResumed(restored);
    await seconds(restored, 6);
    await guest.pause(1_000);
    await seconds(restored, 8);
    expect(await awaitResumed(restored)).toHaveLength(1);
    const { json } = await agent.get('/v1/status');
    expect(json.details.resume.blind_spots.join()).toMatch(
      /a pause in place of less than [\d.]+ s with the clocks frozen/,
    );

    await guest.pause(PAUSE_MS);
    await awaitResumed(restored, 2);
    await seconds(restored, 6);
    await guest.freeze(PAUSE_MS);
    await awaitResumed(restored, 3);
    // What is known of the load is of the moment before the pause.
    await guest.run(`timeout 6 sh -c 'while :; do :; done'`);
    await guest.freeze(PAUSE_MS);
    const resumed = await awaitResumed(restored, 4);
    expect(resumed.map(({ cause }) => cause)).toEqual(['restore', 'vm_paused_silent', 'vm_paused', 'vm_paused']);
    for (const { gap_ms } of resumed.slice(1)) expect(Math.abs(Number(gap_ms) - PAUSE_MS)).toBeLessThan(CLOCK_MS);
  });
});
