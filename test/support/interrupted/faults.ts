// What interrupts the calls of a sprite.
import { expect } from 'vitest';
import type { KillablePlatform } from '../killable-platform.ts';
import type { Interruption } from './interrupt-all.ts';

export interface Fault {
  readonly fault: string;
  readonly toInterruption: (platform: KillablePlatform) => Interruption;
  /** The ending of a call that did not end before. */
  readonly ending: RegExp;
}

export const platformKill: Fault = {
  fault: 'the platform is killed',
  toInterruption: ({ kill, startAgain }) => ({ cut: kill, back: startAgain, isMachineAwake: true }),
  ending: /^broken$/,
};

export const machineSuspend: Fault = {
  fault: 'the machine is suspended',
  toInterruption: ({ machine }) => ({
    async cut() {
      expect((await machine('POST', '/suspend')).status).toBe(200);
      expect((await machine('GET', '/wait?state=suspended')).status).toBe(200);
    },
    async back() {
      expect((await machine('POST', '/start')).status).toBe(200);
    },
    isMachineAwake: false,
  }),
  ending: /^(?:broken|502 upstream_failed)$/,
};
