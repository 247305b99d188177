// What the platform asks of whatever really runs a machine. A driver moves machines and tells what they are; it holds no
// policy and no record.

/** What a driver needs to boot one life of a machine. */
export interface MachineSpec {
  readonly id: string;
  readonly app: string;
  /** Names this life; another one after every boot. */
  readonly instance_id: string;
  readonly region: string;
  readonly private_ip: string;
  readonly memory_mb: number;
  readonly sprite: string;
}

export type DriverState = 'running' | 'suspended' | 'stopped';

/** How a life ended. Exactly one of the two first is set, both are null when nobody saw it. */
export interface LifeEnd {
  readonly exit_code: number | null;
  readonly signal: string | null;
}

export interface MachineDriver extends AsyncDisposable {
  /** Ends what an earlier platform left running. Called once, before all else. */
  recover(): Promise<void>;
  /** Boots. Resolves when the machine runs; throws `internal` when it cannot be started. */
  start(spec: MachineSpec): Promise<void>;
  /** Resolves when nothing of the machine runs any more. Throws when it cannot be frozen; it then runs on. */
  suspend(id: string): Promise<void>;
  /** Continues a frozen machine. */
  resume(id: string): Promise<void>;
  /** Ends a machine, frozen or not: first with `signal`, by force after `timeout_ms`. Resolves when nothing is left of it. */
  stop(id: string, options: StopOptions): Promise<void>;
  /** Removes what a machine that does not run has left on disk. */
  discard(id: string): Promise<void>;
  state(id: string): DriverState;
  /** Runs when a life has ended, for whatever reason, and nothing is left of it. What it throws is what `stop` throws. */
  onExit(listener: (id: string, exit: LifeEnd) => Promise<void>): void;
}

export interface StopOptions {
  readonly signal: StopSignal;
  readonly timeout_ms: number;
}

export const stopSignals = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL'] as const;
export type StopSignal = (typeof stopSignals)[number];
