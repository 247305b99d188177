// The interface of a driver's checkpoints: copies of the writable files of a machine, which the driver makes, keeps and puts back.

export interface DriverCheckpoint {
  /** `v` and a number, which is never used again for this machine. */
  readonly id: string;
  readonly created_ms: number;
  readonly comment?: string | undefined;
  /** The checkpoint that the files came from when it was made. */
  readonly source_id?: string | undefined;
  readonly is_auto: boolean;
  /** Its files and its record can be read. */
  readonly is_healthy: boolean;
}

/** What every long step takes. */
export interface CheckpointWork {
  /** Aborting it ends the step; nothing of it is kept. */
  readonly signal: AbortSignal;
  /** Gets a line for people now and then. */
  readonly onProgress: (line: string) => void;
}

export interface NewCheckpoint extends CheckpointWork {
  readonly comment?: string | undefined;
  readonly is_auto: boolean;
  /** Runs the part in which the machine stands still, when no move of the machine is under way. */
  readonly takeTurn: <T>(step: () => Promise<T>) => Promise<T>;
}

/** A copy that can take the place of the files of a machine. Disposing of it removes what was not put in place. */
export interface PreparedRestore extends AsyncDisposable {
  /** The machine does not run. After a crash in it, the next start of the machine or of the driver finishes it. */
  putInPlace(): Promise<void>;
}

/** Each method throws `storage_full`, and `internal` when the disk fails. The caller has one of them under way at a time for a machine. */
export interface MachineCheckpoints {
  /** The checkpoints in the order of their numbers. */
  list(id: string): Promise<readonly DriverCheckpoint[]>;
  /** The one that the files of the machine come from; undefined when there is none. */
  current(id: string): Promise<string | undefined>;
  /** Keeps the files of a machine that runs, is suspended or does not run; one that runs stands still for a moment. */
  make(id: string, checkpoint: NewCheckpoint): Promise<DriverCheckpoint>;
  /** Changes nothing of the machine. Throws `not_found`, and `conflict` when the checkpoint cannot be read. */
  prepareRestore(id: string, checkpoint_id: string, work: CheckpointWork): Promise<PreparedRestore>;
  /** Throws `not_found`. */
  remove(id: string, checkpoint_id: string): Promise<void>;
}
