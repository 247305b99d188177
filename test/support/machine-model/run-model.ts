// Runs one plan against the moves of machines, and looks after each step whether all agree.
import { setTimeout as sleep } from 'node:timers/promises';
import { randomHex } from '../../../src/core/urandom.ts';
import { createDrainStore } from '../../../src/platform/hosts/drain-store.ts';
import { createMachineHistory } from '../../../src/platform/machines/records/machine-history.ts';
import type { MachineRow } from '../../../src/platform/machines/records/machine-row.ts';
import { createMachineStore } from '../../../src/platform/machines/records/machine-store.ts';
import { makeMachine } from '../../../src/platform/machines-api/make-machine.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { findDisagreement, findUntoldBoot, toExpected } from './model-check.ts';
import { type Plan, type Step, toText } from './model-plan.ts';
import { createModelPlatform, type ModelPlatform } from './model-platform.ts';
import { createPlayedHost } from './played-host.ts';

export interface ModelStorage {
  readonly storage: Storage;
  readonly organization_id: string;
}

/** `cut`: the platform died under it and was replaced. `disturbed`: what follows may be something else than what was asked for. */
type Course = 'plain' | 'cut' | 'disturbed';

/** Looks and not a time: a machine with much other work may stand still for long. */
const LOOKS = 2_000;
const LOOK_MS = 6;
/** Only a plan in which agents are silent waits for the end of their time. */
const DEADLINE_MS = 60_000;
const SILENT_DEADLINE_MS = 1_000;
const WAIT_MS = 60_000;
const HANG_MS = 30;

/** Resolves with what went wrong, and with the run as it was; undefined when nothing did. */
export async function runPlan({ storage, organization_id }: ModelStorage, plan: Plan): Promise<string | undefined> {
  const trace: string[] = [];
  const hasSilent = plan.steps.some(({ isSilent }) => isSilent === true);
  const host = `h${randomHex(8)}`;
  const played = createPlayedHost((line) => trace.push(`    ${line}`));
  const machines = createMachineStore(storage);
  const drains = createDrainStore(storage);
  const history = createMachineHistory(storage);
  const made = { organization_id, app: 'acme', name: undefined, config: {}, cordoned: false, lease: undefined, host };
  const { id } = await storage.transaction((sql) => makeMachine(sql, made, Date.now()));
  await machines.claim(id, host);
  const waited = new Set<{ readonly state: string }>();
  const platform = { now: undefined as ModelPlatform | undefined };

  async function open(): Promise<ModelPlatform> {
    const next = createModelPlatform({
      storage,
      host,
      id,
      played,
      startDeadline_ms: hasSilent ? SILENT_DEADLINE_MS : DEADLINE_MS,
      onMove: (state) => trace.push(`    is ${state}`),
      onStep: (line) => line.endsWith(': cut') && trace.push(`    ${line}`),
    });
    platform.now = next;
    await next.service.reconcile();
    next.service.carryOn();
    played.reportAgain();
    return next;
  }

  async function look(): Promise<string | undefined> {
    const [row, drained] = [await machines.find(id), await drains.drainedSince(host)];
    const facts = { row, instance: played.instances.get(id), isDrained: drained !== undefined };
    return findDisagreement({ ...facts, waited: [...waited].map(({ state }) => state) });
  }

  async function settle(): Promise<string | undefined> {
    for (let looks = 1; ; looks += 1) {
      const wrong = await look();
      if (wrong === undefined || looks === LOOKS) return wrong;
      await sleep(LOOK_MS);
    }
  }

  function wait(current: ModelPlatform, state: MachineRow['state']): void {
    const waiter = { state };
    waited.add(waiter);
    const wanted = { state, instance_id: undefined, timeout_ms: WAIT_MS, signal: new AbortController().signal };
    const over = () => waited.delete(waiter);
    current.service.wait(id, wanted).then(over, over);
  }

  async function carryOut(current: ModelPlatform, step: Step): Promise<Course> {
    played.fault = step.fault;
    played.isSilent = step.isSilent === true;
    current.gate.arm(step.cut?.at);
    if (step.ask.includes('wait'))
      for (const state of ['running', 'suspended', 'stopped'] as const) wait(current, state);
    const answers = step.ask.map(async (word) => {
      const answer = await current.ask(word).then(
        () => 'ok',
        (error: unknown) => String((error as { code?: string }).code ?? error),
      );
      trace.push(`    ${word}: ${answer}`);
      return answer;
    });
    const answered = await Promise.race([Promise.all(answers), current.gate.over]);
    if (step.cut === undefined) await Promise.race([settle(), current.gate.over]);
    else await Promise.race([sleep(HANG_MS), current.gate.over]);
    // A fault that nothing has met is over with its step.
    const isHung = await Promise.race([current.gate.over.then(() => true), sleep(0, false)]);
    played.fault = undefined;
    played.isSilent = false;
    if (!isHung) {
      current.gate.arm(undefined);
      // A machine with much other work may be late with its report.
      return answered?.includes('start_failed') === true ? 'disturbed' : 'plain';
    }
    await end(current);
    if (step.cut?.meanwhile === 'crash') await played.end(id, { exit_code: 7, signal: null });
    if (step.cut?.meanwhile === 'reboot') played.reboot();
    trace.push(`    the platform died${step.cut === undefined ? '' : `, then ${step.cut.meanwhile}`}`);
    await open();
    return step.cut?.meanwhile === 'nothing' ? 'cut' : 'disturbed';
  }

  async function end(current: ModelPlatform): Promise<void> {
    current.gate.die();
    void current.service[Symbol.asyncDispose]();
    // Those who waited at it were cut off.
    await sleep(0);
    waited.clear();
  }

  const toFailure = async (what: string) => {
    const events = (await history.list(id, 100)).toReversed();
    const lines = events.map(({ type, status, cause = '' }) => `    ${type} ${status} ${cause}`);
    return [what, toText(plan), '  run:', ...trace, '  events:', ...lines].join('\n');
  };

  try {
    await open();
    for (const [index, step] of plan.steps.entries()) {
      const current = platform.now;
      const before = await machines.find(id);
      if (before === undefined || current === undefined) break;
      const wasDrained = (await drains.drainedSince(host)) !== undefined;
      trace.push(`  ${index + 1}. ${before.state}, to be ${before.wanted}: ${JSON.stringify(step)}`);
      const course = await carryOut(current, step);
      const wrong = (await settle()) ?? played.violations[0];
      if (wrong !== undefined) return await toFailure(wrong);
      const untold = findUntoldBoot((await history.list(id, 100)).toReversed());
      if (untold !== undefined) return await toFailure(untold);
      const [word] = step.ask;
      const isAlone = step.ask.length === 1 && step.fault === undefined && !hasSilent;
      // One that ended is started again whenever its time has come.
      const isPending = before.state === 'stopped' && before.wanted === 'running' && word !== 'undrain';
      if (!isAlone || isPending || word === undefined || course === 'disturbed') continue;
      const now = (await machines.find(id))?.state ?? 'gone';
      // What was not begun when the platform died was not done; what was is done whole.
      const expected = [...toExpected(word, before, wasDrained), ...(course === 'cut' ? [before.state] : [])];
      if (!expected.includes(now))
        return await toFailure(`after ${word} it is ${now}, and not ${expected.join(' or ')}`);
    }
    return undefined;
  } finally {
    if (platform.now !== undefined) await end(platform.now);
    await machines.delete(id, Date.now());
  }
}
