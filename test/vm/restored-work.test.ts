// What runs in a machine goes on over ten suspends in a row, and nothing is lost; a second suspend in the middle of a recovery; a cold start.
import { describe, expect, it } from 'vitest';
import type { ServiceResponse } from '../../src/contract/services.ts';
import { openOnce } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { tx } from '../support/scripted-node.ts';
import { bootGolden, type RunningGuest } from '../support/vm/golden-guest.ts';
import { openTerminal } from '../support/vm/guest-terminal.ts';
import { CONNECTOR_PATH } from '../support/vm/guest-world.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';
import { awaitResumed, listGenerations, ofType, readUptime_s } from '../support/vm/watch-restores.ts';

const BOOT_LIMIT_MS = 600_000;
const LIMIT_MS = 120_000;
const TEN_LIMIT_MS = 420_000;
/** It boots once more. */
const COLD_LIMIT_MS = 300_000;
const ROUNDS = 10;
/** Less than a restore that left a megabyte behind each time would add. */
const GROWTH_MB = 7;
const DB = 'app.db';
const COUNTER = 'n=0; while :; do n=$((n + 1)); echo line $n; sleep 1; done';
const ECHO = 'while read -r line; do echo got $line; done';

const readService = async ({ agent }: RunningGuest): Promise<ServiceResponse['state']> =>
  (await agent.get('/v1/services/counter')).json.state;
const readSessions = async ({ agent }: RunningGuest): Promise<{ id: string }[]> =>
  (await agent.get('/v1/exec')).json.sessions;

/** Descriptors and resident memory of the agent. */
async function weigh({ agent, guest }: RunningGuest) {
  const { pid } = (await agent.get('/v1/status')).json;
  const said = await guest.run(`ls /proc/${pid}/fd | wc -l; awk '/VmRSS/ { print $2 }' /proc/${pid}/status`);
  const [descriptors = 0, resident_kb = 0] = said.trim().split('\n').map(Number);
  return { pid, descriptors, resident_mb: resident_kb / 1_024 };
}

describe.skipIf(isWithoutMachines())('what runs in a machine', { timeout: LIMIT_MS }, () => {
  const golden = openOnce(
    () =>
      bootGolden('6.12', {
        async prepare({ agent }, stream) {
          stream.send(tx(DB, 1));
          await agent.ask('/v1/tasks', { method: 'POST', body: { name: 'build', expire: 3_600 } });
          const service = { cmd: 'sh', args: ['-c', COUNTER] };
          await agent.ask('/v1/services/counter?duration=1s', { method: 'PUT', body: service });
          const terminal = await openTerminal(
            agent,
            `?${new URLSearchParams({ cmd: 'bash', tty: 'true', detachable: 'true' })}`,
          );
          await terminal.say(ECHO, ECHO);
          terminal.close();
        },
      }),
    BOOT_LIMIT_MS,
  );

  it(
    'goes on over ten suspends in a row, and nothing is lost',
    async () => {
      let running = await golden().restore();
      const hold_s = async () => (await running.agent.get('/v1/tasks/build')).json.expire;
      const service = await readService(running);
      const sessions = await readSessions(running);
      expect([service?.status, sessions.length]).toEqual(['running', 1]);
      const began = { hold_s: await hold_s(), uptime_s: await readUptime_s(running) };
      const weights: Awaited<ReturnType<typeof weigh>>[] = [];
      for (let round = 1; round <= ROUNDS; round += 1) {
        if (round > 1) running = await golden().again(running);
        const stream = await running.node.next(LIMIT_MS);
        stream.open();
        const resumed = await awaitResumed(running, round);
        expect(resumed).toHaveLength(round);
        stream.send(tx(DB, round + 1));
        const txID = (round + 1).toString(16);
        expect((await running.agent.get(`/v1/replication/${DB}/wait?txid=${txID}`)).json.state).toBe('live');
        expect((await running.agent.ask(`${CONNECTOR_PATH}/round-${round}`)).text).toBe('ok');
        weights.push(await weigh(running));
      }
      const events = await running.agent.events(0, () => true);
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      const resumed = ofType(events, 'resumed');
      expect(resumed.map(({ generation }) => generation)).toEqual(Array.from({ length: ROUNDS }, (_, n) => n + 1));
      expect([...new Set(resumed.map(({ cause, certainty }) => `${cause} ${certainty}`))]).toEqual(['restore certain']);
      expect(running.provider.requests.map((request) => request.split(' ')[1])).toEqual(
        Array.from({ length: ROUNDS }, (_, n) => `/round-${n + 1}`),
      );
      const kept = (await running.agent.get(`/v1/replication/${DB}/transactions`)).json;
      expect(
        kept.transactions.map(({ seq, txID }: { seq: number; txID: string }) => [seq, Number.parseInt(txID, 16)]),
      ).toEqual(Array.from({ length: ROUNDS + 1 }, (_, n) => [n + 1, n + 1]));
      expect(ofType(events, 'replication_gap')).toEqual([]);
      expect(running.node.arrivals_ms).toHaveLength(ROUNDS);

      const ran_s = (await readUptime_s(running)) - began.uptime_s;
      expect(Math.abs(began.hold_s - (await hold_s()) - ran_s)).toBeLessThan(3);
      expect(new Set(weights.map(({ pid }) => pid)).size).toBe(1);
      const [, , settled, ...later] = weights;
      for (const { descriptors, resident_mb } of later) {
        expect(Math.abs(descriptors - Number(settled?.descriptors))).toBeLessThan(later.length);
        expect(resident_mb - Number(settled?.resident_mb)).toBeLessThan(GROWTH_MB);
      }

      expect(await readService(running)).toEqual(service);
      const log = (await running.agent.get('/v1/services/counter/logs?duration=0&lines=10000')).text;
      const lines = [...log.matchAll(/line (\d+)/g)].map(([, n]) => Number(n));
      expect(lines).toEqual(lines.map((_, index) => index + 1));
      expect(lines.length).toBeGreaterThan(ROUNDS);
      expect(await readSessions(running)).toMatchObject(sessions.map(({ id }) => ({ id })));
      const terminal = await openTerminal(running.agent, `/${sessions[0]?.id}`);
      await terminal.say('hello', 'got hello');
    },
    TEN_LIMIT_MS,
  );

  it('starts over when it is suspended in the middle of a recovery, and tells of one resume', async () => {
    const first = await golden().restore();
    // The recovery waits for what the node says first.
    await first.node.next(LIMIT_MS);
    const again = await golden().again(first);
    const stream = await again.node.next(LIMIT_MS);
    stream.open();
    const resumed = await awaitResumed(again);
    const reports = golden().doors.platform.passages.flatMap(
      ({ sent }) => sent.match(/^POST .*\/resumed HTTP/gm) ?? [],
    );
    expect(reports).toHaveLength(1);
    expect([...new Set(listGenerations(golden().doors.platform.passages))]).toEqual([2]);
    expect(resumed).toMatchObject([{ generation: 2, cause: 'restore', certainty: 'certain' }]);
    expect((await again.agent.get('/v1/status')).json.generation).toBe(2);
  });

  it(
    'is started again by a cold start, where it was a service',
    async () => {
      const running = await golden().restore();
      running.node.onRequest((stream) => stream.open());
      await awaitResumed(running);
      const before = { service: await readService(running), status: (await running.agent.get('/v1/status')).json };
      await running.guest.run('sync');
      const cold = await golden().bootAgain(running);
      const service = await eventually(async () => {
        const state = await readService(cold);
        return state?.status === 'running' && state;
      }, LIMIT_MS);
      expect(service.started_at).not.toBe(before.service?.started_at);
      expect(service.restart_count).toBe(0);
      expect(await readSessions(cold)).toEqual([]);
      const { json } = await cold.agent.get('/v1/status');
      expect(json.details.resume.boot_id).not.toBe(before.status.details.resume.boot_id);
      expect(json.generation).toBe(before.status.generation);
      expect(json.details.report).toMatchObject({ ok: true });
      expect(await cold.guest.run(`journalctl -u remora -o cat --no-pager | grep -c '"msg":"resumed"'`)).toBe('0\n');
      expect(await cold.agent.ask(`${CONNECTOR_PATH}/cold`)).toMatchObject({ text: 'ok' });
    },
    COLD_LIMIT_MS,
  );
});
