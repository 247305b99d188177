// Where this machine is between awake and suspended: the suspender moves it, and other parts read it.
import { type SuspendEvent, type SuspendState, transition } from '../../core/machine/suspend-states.ts';

export interface SuspendProgress {
  readonly state: SuspendState;
  move(event: SuspendEvent): void;
}

/** `onFence` is called when a suspend is asked for or accepted (true), and when it is no longer (false). */
export function createSuspendProgress(onFence: (up: boolean) => void): SuspendProgress {
  let state: SuspendState = 'awake';
  const isFenced = () => state === 'fenced' || state === 'preparing';
  return {
    get state() {
      return state;
    },
    move(event) {
      const before = isFenced();
      state = transition(state, event);
      if (isFenced() !== before) onFence(!before);
    },
  };
}
