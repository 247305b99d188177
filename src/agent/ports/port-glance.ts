// Tells at a small cost whether a scan of the ports would show anything new.
import type { PortScanner } from './port-scanner.ts';

export interface PortGlance {
  /** Keeps the kernel's counters to compare later ones with. Call it right before a scan. */
  note(): void;
  /** Whether the kernel had counters when they were kept last. */
  readonly hasCounters: boolean;
  /** Whether anything may have changed since then. */
  look(): boolean;
  /**
   * The same for a look that comes back within a second: the descriptors of known listeners cost as much as the counters, and are looked at in
   * every other call.
   */
  lookInTurns(): boolean;
}

export function createPortGlance(scanner: Pick<PortScanner, 'counters' | 'letGo'>): PortGlance {
  let counters: string | undefined;
  let turn = 0;
  const haveCountersChanged = () => scanner.counters() !== counters;

  function look(): boolean {
    return haveCountersChanged() || scanner.letGo();
  }

  return {
    note() {
      counters = scanner.counters();
    },
    get hasCounters() {
      return counters !== undefined;
    },
    look,
    lookInTurns() {
      turn += 1;
      return turn % 2 === 0 ? look() : haveCountersChanged();
    },
  };
}
