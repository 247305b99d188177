// The traffic of each machine that passes through this platform process: how much is in flight, and since when there was none. What
// suspends idle machines reads it.

export interface MachineTraffic {
  /**
   * Counts one request or tunnel until its disposal. Call it before the state of the machine is read: a suspend looks here after it has
   * recorded that it began, so that one of the two sees the other, and no request meets a machine that is frozen under it.
   */
  begin(machine_id: string): Disposable;
  /** Requests and tunnels that are open. */
  inFlight(machine_id: string): number;
  /**
   * The end of the last request or tunnel, in milliseconds of the monotonic clock. Undefined while there is one, and when none has come through
   * this process, or long ago.
   */
  quietSince_ms(machine_id: string): number | undefined;
  /** How many have begun, of all machines. */
  readonly total: number;
}

/** How many machines without traffic are kept; those that have been quiet for longest are forgotten first. */
const QUIET_KEPT = 100_000;

/** `now_ms`: monotonic. */
export function createMachineTraffic(now_ms: () => number, quietKept = QUIET_KEPT): MachineTraffic {
  const open = new Map<string, number>();
  /** When the last request of each machine ended, the earliest first. */
  const quiet = new Map<string, number>();
  let total = 0;

  function end(machine_id: string): void {
    const left = (open.get(machine_id) ?? 1) - 1;
    if (left > 0) {
      open.set(machine_id, left);
      return;
    }
    open.delete(machine_id);
    quiet.set(machine_id, now_ms());
    if (quiet.size <= quietKept) return;
    const [oldest] = quiet.keys();
    if (oldest !== undefined) quiet.delete(oldest);
  }

  return {
    begin(machine_id) {
      total += 1;
      open.set(machine_id, (open.get(machine_id) ?? 0) + 1);
      quiet.delete(machine_id);
      return new Counted(machine_id, end);
    },
    inFlight: (machine_id) => open.get(machine_id) ?? 0,
    quietSince_ms: (machine_id) => quiet.get(machine_id),
    get total() {
      return total;
    },
  };
}

/** A class, and no object of functions, because there is one for each request. */
class Counted implements Disposable {
  readonly #machine_id: string;
  #end: ((machine_id: string) => void) | undefined;

  constructor(machine_id: string, end: (machine_id: string) => void) {
    this.#machine_id = machine_id;
    this.#end = end;
  }

  [Symbol.dispose](): void {
    const end = this.#end;
    this.#end = undefined;
    end?.(this.#machine_id);
  }
}
