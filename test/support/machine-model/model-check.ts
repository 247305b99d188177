// What must hold of a machine of the model when nothing is under way: its record, its driver and those who wait for it say the same.
import type { MachineEvent } from '../../../src/contract/machine-events.ts';
import type { MachineRow } from '../../../src/platform/machines/records/machine-row.ts';
import type { Word } from './model-plan.ts';
import type { PlayedInstance } from './played-host.ts';

export interface ModelFacts {
  readonly row: MachineRow | undefined;
  readonly instance: PlayedInstance | undefined;
  readonly isDrained: boolean;
  /** The states that somebody still waits for. */
  readonly waited: readonly string[];
}

/** What disagrees; undefined when nothing does. */
export function findDisagreement(facts: ModelFacts): string | undefined {
  const { row, instance, waited } = facts;
  const driver = instance?.state === 'running' || instance?.state === 'suspended' ? instance.state : 'stopped';
  if (row === undefined) {
    if (instance !== undefined) return 'the record is gone and its files are there';
    return waited.length === 0 ? undefined : `somebody waits for ${waited} of a machine that is gone`;
  }
  if (waited.includes(row.state)) return `somebody waits for ${row.state}, which it is`;
  if (row.wanted === 'destroyed') return 'it is to be destroyed, and is there';
  const isUp = driver !== 'stopped' || row.state === 'suspended';
  if (row.wanted === 'stopped' && isUp) return `it is to be stopped, is ${driver}, and recorded as ${row.state}`;
  return judgeState(row, driver, facts);
}

function judgeState(row: MachineRow, driver: string, { instance, isDrained }: ModelFacts): string | undefined {
  const isSame = instance?.instance_id === row.instance_id;
  const said = `it is recorded as ${row.state}, wanted ${row.wanted}, and the driver has it ${driver}`;
  switch (row.state) {
    case 'running':
      return driver === 'running' && isSame && !isDrained ? undefined : said;
    case 'suspended':
      if (row.discarded === null) return driver === 'suspended' && isSame && !isDrained ? undefined : said;
      return driver === 'stopped' ? undefined : `${said}, discarded`;
    case 'stopped':
      // It is to run again.
      if (row.wanted === 'running' && !isDrained) return said;
      return driver === 'stopped' ? undefined : said;
    case 'created':
    case 'failed':
      return driver === 'stopped' ? undefined : said;
    case 'starting':
    case 'suspending':
    case 'destroyed':
      return said;
    default:
      return row.state satisfies never;
  }
}

/** Every boot of a machine that was suspended says why its memory is gone. The oldest event comes first. */
export function findUntoldBoot(events: readonly MachineEvent[]): string | undefined {
  let before = '';
  for (const { id, type, status, cause } of events) {
    if (type === 'start' && before === 'suspended' && cause === undefined)
      return `the boot of event ${id} has no cause`;
    before = status;
  }
  return undefined;
}

/** The states that may follow when one thing was asked of a machine at rest, and nothing went wrong. */
export function toExpected(word: Word, row: MachineRow, isDrained: boolean): readonly string[] {
  const { state, wanted } = row;
  const isIdle = state === 'created' || state === 'stopped' || state === 'failed';
  switch (word) {
    case 'start':
      return isDrained ? [state] : ['running'];
    case 'restart':
      return isDrained ? [state, 'stopped'] : ['running'];
    case 'stop':
      return state === 'created' ? ['created'] : ['stopped'];
    case 'suspend':
    case 'sleep':
      return state === 'running' ? ['suspended'] : [state];
    case 'update':
      if (isDrained) return [state, 'stopped'];
      return wanted === 'running' && state !== 'suspended' ? ['running'] : [state];
    case 'sleepByStop':
      return state === 'running' ? ['stopped'] : [state];
    case 'cool':
      return state === 'suspended' ? ['stopped'] : [state];
    case 'discard':
    case 'sleepCalledOff':
    case 'wait':
      return [state];
    case 'destroy':
      return ['gone'];
    case 'crash':
      return state === 'running' && !isDrained ? ['running', 'failed'] : [state, 'stopped'];
    case 'end':
      return state === 'running' ? ['stopped'] : [state];
    case 'drain':
      return isIdle || state === 'suspended' ? [state] : ['stopped'];
    case 'undrain':
      return isIdle && wanted === 'running' ? ['running'] : [state];
    default:
      return word satisfies never;
  }
}
