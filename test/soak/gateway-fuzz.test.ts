// A minute of odd targets, headers and bodies through agent and platform, and through each of them alone. Whatever reaches the
// provider is what the policy of its connector allows in every form of its path, byte for byte as it was sent, without a header
// that is not the caller's to send; and a caller that was refused reached nobody.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { randomHex } from '../../src/core/urandom.ts';
import { createDice } from '../support/dice.ts';
import { openRaw } from '../support/raw-http.ts';
import { findBreach } from './gateway-fuzz/oracle.ts';
import { type FuzzedRequest, toBytes, toFuzzedRequest } from './gateway-fuzz/requests.ts';
import { openTargets, type Target } from './gateway-fuzz/targets.ts';

const LENGTH_MS = Number(process.env.REMORA_FUZZ_MS ?? 60_000);
const SEED = process.env.REMORA_FUZZ_SEED ?? randomHex(4);
const AT_ONCE = 8;
const ANSWER_MS = 300;
const ANSWER = /^(?:HTTP\/1\.1 100 .*?\r\n\r\n)*HTTP\/1\.1 ([1-5]\d\d) /s;

it(`only what the policy allows reaches the provider (REMORA_FUZZ_SEED=${SEED})`, async () => {
  const dice = createDice(SEED);
  const sent = new Map<string, FuzzedRequest>();
  const broken: string[] = [];
  const targets = await openTargets(broken, (id) => sent.get(id)?.target);
  const refused = new Map<string, string>();
  const statuses = new Map<string, number>();
  let count = 0;

  async function one(target: Target): Promise<void> {
    count += 1;
    const request = toFuzzedRequest(String(count), target.credential, dice);
    sent.set(request.id, request);
    const caller = openRaw(target.where, toBytes(request));
    // A body that was announced and never sent is waited for, and rightly so.
    await Promise.race([caller.until(ANSWER).catch(() => undefined), sleep(ANSWER_MS)]);
    caller.socket.destroy();
    const status = ANSWER.exec(caller.text)?.[1] ?? 'none';
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (status.startsWith('4')) refused.set(request.id, status);
  }

  const checked = new Map<Target, number>();
  const arrived = new Set<string>();
  /** Each arrival once, and those who were refused among them. */
  function check(target: Target): void {
    const { arrivals } = target;
    for (const { id, arrival } of arrivals.slice(checked.get(target) ?? 0)) {
      const request = sent.get(id);
      const breach = findBreach(request, arrival) ?? (arrived.has(id) ? 'it arrived twice' : undefined);
      const status = refused.get(id);
      expect({ target: target.name, breach, status, request, arrival }).toMatchObject({
        breach: undefined,
        status: undefined,
      });
      arrived.add(id);
    }
    checked.set(target, arrivals.length);
  }

  const end_ms = performance.now() + LENGTH_MS;
  while (performance.now() < end_ms) {
    const round = Array.from({ length: AT_ONCE }, () => targets[dice.below(targets.length)]);
    await Promise.all(round.map((target) => target && one(target)));
    if (count % (50 * AT_ONCE) === 0) for (const target of targets) check(target);
  }
  await sleep(ANSWER_MS);
  for (const target of targets) check(target);
  const counts = JSON.stringify(Object.fromEntries([...statuses].sort()));
  const reached = targets.map((target) => `${target.name} ${checked.get(target)}`).join(', ');
  console.log(`${count} requests, reached the provider: ${reached}; answers ${counts}`);
  expect(broken).toEqual([]);
  expect(statuses.get('500')).toBeUndefined();
  // A minute in which nothing passes, or nothing is refused, proves nothing.
  for (const status of ['101', '200', '400', '403', '404', '405']) {
    expect({ status, few: (statuses.get(status) ?? 0) < LENGTH_MS / 1_000 }).toEqual({ status, few: false });
  }
  for (const target of targets) expect(checked.get(target)).toBeGreaterThan(LENGTH_MS / 100);
});
