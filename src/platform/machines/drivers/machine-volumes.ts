// The interface of a driver's volumes: files that are no machine's own, which a machine has mounted while it runs. Their ids are never used
// again.

/** Each method throws `storage_full`, and `internal` when the disk fails. */
export interface MachineVolumes {
  /** Makes what is missing of it; one that is there stays as it is. */
  make(id: string, size_gb: number): Promise<void>;
  /** Makes a volume larger. False when a machine that has it mounted sees that only after its next boot. */
  extend(id: string, size_gb: number): Promise<boolean>;
  /** Deletes its files, as far as there are any. No machine that runs has it mounted. */
  remove(id: string): Promise<void>;
}
