// What the part `machine` says of itself: whether the platform refuses this machine, and whether suspending is set up.
import type { Part } from '../parts.ts';

export interface MachineStatusOptions {
  readonly part: Part;
  readonly identity: { readonly app: string | undefined; readonly machine: string | undefined };
  /** A machines API is configured. */
  readonly hasApi: boolean;
}

export interface MachineStatus {
  start(): void;
  /** The platform refuses this machine as a copy, with what to do about it; undefined when it does not. */
  setFencedOff(reason: string | undefined): void;
}

export function createMachineStatus({ part, identity, hasApi }: MachineStatusOptions): MachineStatus {
  let fencedOff: string | undefined;

  function updatePart(): void {
    if (fencedOff !== undefined) part.set('degraded', fencedOff);
    else if (!hasApi) part.set('off', 'no machines API is known; set REMORA_MACHINES_API');
    else if (identity.app === undefined || identity.machine === undefined) {
      part.set('degraded', 'this machine does not know its name; set REMORA_APP and REMORA_MACHINE');
    } else part.set('ok');
  }

  return {
    start: updatePart,
    setFencedOff(reason) {
      fencedOff = reason;
      updatePart();
    },
  };
}
