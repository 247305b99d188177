// A run of the model of a machine, drawn from a seed before it begins: what is asked, what the driver does wrong, and where the platform dies.
import { createDice, type Dice } from '../dice.ts';

export const words = [
  'start',
  'stop',
  'suspend',
  'restart',
  'update',
  'discard',
  'destroy',
  'crash',
  'end',
  'wait',
  'drain',
  'undrain',
  'sleep',
  'sleepByStop',
  'sleepCalledOff',
  'cool',
] as const;
/**
 * `crash`, `end`: the instance ends by itself, with an error or without. `sleep`, `sleepByStop`: the platform has decided it; `sleepCalledOff`: work
 * comes once the sleep is recorded. `cool`: the memory of a suspended machine is given up.
 */
export type Word = (typeof words)[number];

export const driverCalls = ['start', 'suspend', 'resume', 'dropSnapshot', 'stop', 'discard'] as const;
export type DriverCall = (typeof driverCalls)[number];

/** `fail`: the call throws and nothing has happened. `full`: it does so because the disk is full. `hang`: it never ends. `lose`: the instance ends under it. */
export interface Fault {
  readonly call: DriverCall;
  readonly kind: 'fail' | 'full' | 'hang' | 'lose';
}

/** The platform dies at the `at`-th beginning or end of a call to storage or driver. Before the next one the world goes on. */
export interface Cut {
  readonly at: number;
  readonly meanwhile: 'nothing' | 'crash' | 'reboot';
}

export interface Step {
  /** Asked at once. */
  readonly ask: readonly Word[];
  readonly fault?: Fault;
  readonly cut?: Cut;
  /** The agents of instances that begin in it never report. */
  readonly isSilent?: true;
}

export interface Plan {
  readonly seed: string;
  readonly steps: readonly Step[];
}

const STEPS = 8;
const CUTS = 44;

export function drawPlan(seed: string): Plan {
  const dice = createDice(seed);
  for (let turn = 0; turn < 8; turn += 1) dice.below(2);
  return { seed, steps: Array.from({ length: STEPS }, () => drawStep(dice)) };
}

function drawStep(dice: Dice): Step {
  const count = dice.pick([1, 1, 1, 2, 3]);
  const ask = Array.from({ length: count }, () => drawWord(dice));
  const step = { ask, ...(dice.chance(2) ? { isSilent: true as const } : {}) };
  if (dice.chance(25)) return { ...step, fault: drawFault(dice) };
  if (dice.chance(40)) return { ...step, cut: drawCut(dice) };
  return step;
}

function drawWord(dice: Dice): Word {
  if (dice.chance(70)) return dice.pick(['start', 'start', 'suspend', 'sleep', 'stop', 'restart', 'update']);
  const word = dice.pick(words);
  // It is the end of the run, so that it is drawn seldom.
  return word === 'destroy' && dice.chance(60) ? 'wait' : word;
}

function drawFault(dice: Dice): Fault {
  return { call: dice.pick(driverCalls), kind: dice.pick(['fail', 'fail', 'hang', 'lose']) };
}

function drawCut(dice: Dice): Cut {
  return { at: 1 + dice.below(CUTS), meanwhile: dice.pick(['nothing', 'nothing', 'crash', 'reboot']) };
}

export function toText({ seed, steps }: Plan): string {
  const lines = steps.map((step, index) => `  ${index + 1}. ${JSON.stringify(step)}`);
  return [`seed ${seed}`, ...lines].join('\n');
}
