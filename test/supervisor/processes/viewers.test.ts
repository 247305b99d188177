// Several callers of one process.
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openExec, toExecQuery } from '../../support/exec-socket.ts';
import { startSupervisor } from '../../support/supervisor-process.ts';

test('of several callers one that takes nothing is dropped, and the process runs on', async () => {
  const { socket, ask } = await startSupervisor();
  const slow = await openExec(socket, `?${toExecQuery(['yes'], { detachable: 'true' })}`);
  const info = JSON.parse(String((await slow.received(1))[0]));
  const quick = await openExec(socket, `/${info.session_id}`);
  expect(JSON.parse(String((await quick.received(1))[0]))).toEqual({ ...info, is_owner: false });
  slow.socket.pause();
  let frames = 0;
  quick.socket.on('message', () => {
    frames += 1;
  });
  // More than what the sockets hold for the slow one.
  const enough = 200;
  await eventually(() => frames > enough);
  const before = frames;
  await eventually(() => frames > before + 10 * enough);
  expect((await ask({ method: 'POST', target: `/v1/exec/${info.session_id}/kill?signal=KILL` })).status).toBe(200);
  expect(await quick.ended()).toEqual({ exit_code: 137, code: 1000 });
  slow.socket.resume();
  expect(await slow.closed).toEqual({ code: 1008, reason: 'slow_reader' });
});

test('who attaches after the end sees the last output and the exit code', async () => {
  const { socket, ask } = await startSupervisor();
  const first = await openExec(
    socket,
    `?${toExecQuery(['sh', '-c', 'echo out; echo err >&2; exit 5'], { detachable: 'true' })}`,
  );
  const { session_id } = JSON.parse(String((await first.received(1))[0]));
  await first.closed;
  const later = await openExec(socket, `/${session_id}`);
  expect(await later.ended()).toEqual({ exit_code: 5, code: 1000 });
  expect([later.text('stdout'), later.text('stderr')]).toEqual(['out\n', 'err\n']);
  const killed = await ask({ method: 'POST', target: `/v1/exec/${session_id}/kill` });
  expect([killed.status, killed.json]).toMatchObject([410, { error: 'gone' }]);
  await expect(openExec(socket, '/none')).rejects.toThrow('404');
});
