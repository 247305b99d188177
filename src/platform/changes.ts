// The one channel through which a part of the platform says that it has changed something which other parts depend on. Listeners run
// at once, within this process; what another process changes is found at each `revalidation_due`.

import type { MachineStatus } from '../contract/machines.ts';

export type Change =
  /** An organization has got a sprite. */
  | { readonly type: 'sprite_created'; readonly sprite_id: string }
  /** The settings or the labels of a sprite have changed, or it is gone. */
  | { readonly type: 'sprite_changed'; readonly sprite_id: string }
  /** A connector was made, its name, policy or credential has changed, or it is gone. */
  | { readonly type: 'connector_changed'; readonly connector_id: string }
  /** A secret of an app was set or deleted. */
  | { readonly type: 'app_secrets_changed'; readonly app: string }
  /** Another machine, or another incarnation, is served in place of the one that was. */
  | { readonly type: 'incarnation_replaced'; readonly sprite_id: string }
  /** A machine of this platform process has reached another state. */
  | {
      readonly type: 'machine_moved';
      readonly machine_id: string;
      readonly sprite_id: string;
      readonly state: MachineStatus;
    }
  /** A machine that runs is about to be stopped by the platform: nothing more may be sent to it, until it has moved. */
  | { readonly type: 'machine_ending'; readonly sprite_id: string }
  /** An event of a machine of this platform process was recorded. */
  | { readonly type: 'machine_event'; readonly machine_id: string }
  /** It is time to look again at what this process is not notified of. */
  | { readonly type: 'revalidation_due' };

type ChangeOf<T extends Change['type']> = Extract<Change, { readonly type: T }>;

export interface Changes {
  /** Runs every listener of the type, in the order of their subscription, and throws what a listener throws. */
  publish(change: Change): void;
  /** Runs `listener` at each change of the type, until the process ends. */
  subscribe<T extends Change['type']>(type: T, listener: (change: ChangeOf<T>) => void): void;
}

export function createChanges(): Changes {
  const listeners: { readonly [T in Change['type']]: ((change: ChangeOf<T>) => void)[] } = {
    sprite_created: [],
    sprite_changed: [],
    connector_changed: [],
    app_secrets_changed: [],
    incarnation_replaced: [],
    machine_moved: [],
    machine_ending: [],
    machine_event: [],
    revalidation_due: [],
  };

  function run<T extends Change['type']>(type: T, change: ChangeOf<T>): void {
    for (const listener of listeners[type]) listener(change);
  }

  return {
    publish: (change) => run(change.type, change),
    subscribe(type, listener) {
      listeners[type].push(listener);
    },
  };
}
