import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createGate } from '../../../src/agent/resume/gate.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';

const idle = { check: () => undefined };

async function codeOf(wait: Promise<void>): Promise<string> {
  try {
    await wait;
    return 'passed';
  } catch (error) {
    return error instanceof RemoraError ? error.code : String(error);
  }
}

test('an open gate lets everybody through, after a look for a resume', async () => {
  let looks = 0;
  const gate = createGate({
    check() {
      looks += 1;
    },
  });
  await gate.wait();
  expect(looks).toBe(1);
  expect(gate.closed).toBeUndefined();
});

test('who passes an open gate waits for no promise, who passes a closed one waits as others do', async () => {
  let looks = 0;
  const check = () => {
    looks += 1;
  };
  const gate = createGate({ check, limit_ms: 20 });
  expect([gate.pass(), looks]).toEqual([undefined, 1]);
  gate.close('suspending');
  const waits = gate.pass();
  expect(waits).toBeInstanceOf(Promise);
  expect(await codeOf(waits ?? Promise.resolve())).toBe('suspending');
  const opened = gate.pass();
  gate.open('suspending');
  expect(await codeOf(opened ?? Promise.reject(new Error('it was closed')))).toBe('passed');
});

test('a resume that the look finds makes the caller wait', async () => {
  const gate = createGate({ check: () => gate.close('resuming'), limit_ms: 20 });
  expect(await codeOf(gate.wait())).toBe('resuming');
});

test('callers wait while it is closed and go through together when it opens', async () => {
  const gate = createGate(idle);
  gate.close('resuming');
  const waits = Promise.all(Array.from({ length: 100 }, () => codeOf(gate.wait())));
  gate.open('resuming');
  expect(new Set(await waits)).toEqual(new Set(['passed']));
});

test('both reasons must be gone', async () => {
  const gate = createGate({ ...idle, limit_ms: 30 });
  gate.close('suspending');
  gate.close('resuming');
  expect(gate.closed).toBe('resuming');
  gate.open('resuming');
  expect(gate.closed).toBe('suspending');
  expect(await codeOf(gate.wait())).toBe('suspending');
  gate.open('suspending');
  expect(await codeOf(gate.wait())).toBe('passed');
});

test('a caller is turned away after the limit, with a time to try again', async () => {
  const gate = createGate({ ...idle, limit_ms: 20 });
  gate.close('resuming');
  await expect(gate.wait()).rejects.toMatchObject({ code: 'resuming', retryAfter_ms: 1_000 });
});

test('a caller who waited for the suspend waits again for the resume', async () => {
  const gate = createGate({ ...idle, limit_ms: 60 });
  gate.close('suspending');
  const wait = codeOf(gate.wait());
  await sleep(40);
  gate.close('resuming');
  gate.open('suspending');
  await sleep(50);
  gate.open('resuming');
  expect(await wait).toBe('passed');
});

test('an overdue limit looks for the resume that made it overdue before it turns anybody away', async () => {
  let away = false;
  const gate = createGate({
    limit_ms: 20,
    check() {
      if (!away) return;
      away = false;
      gate.close('resuming');
      gate.open('suspending');
      setTimeout(() => gate.open('resuming'), 10);
    },
  });
  gate.close('suspending');
  const wait = codeOf(gate.wait());
  away = true;
  expect(await wait).toBe('passed');
});

test('a crowd beyond the cap is turned away at once, and the cap frees up again', async () => {
  const gate = createGate(idle);
  gate.close('resuming');
  const waits = Array.from({ length: 1_025 }, () => codeOf(gate.wait()));
  expect(await waits.at(-1)).toBe('resuming');
  gate.open('resuming');
  expect(new Set(await Promise.all(waits.slice(0, -1)))).toEqual(new Set(['passed']));
  gate.close('resuming');
  const next = codeOf(gate.wait());
  gate.open('resuming');
  expect(await next).toBe('passed');
});

test('nobody is left waiting when the agent ends', async () => {
  const gate = createGate(idle);
  gate.close('resuming');
  const wait = codeOf(gate.wait());
  gate[Symbol.dispose]();
  expect(await wait).toBe('passed');
});
