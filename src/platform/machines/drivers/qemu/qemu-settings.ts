// The settings of virtual machines on this host.

export interface QemuSettings {
  /** The image of a machine whose configuration names none; the only one there is, or `default`, when absent. */
  readonly image?: string;
  /** Where the images are; `images` in the directory of the platform when absent. */
  readonly imagesDir?: string;
  /** `tcg`: in software, on every host. `kvm`: by the processor, where the device may be opened. */
  readonly accel: 'tcg' | 'kvm';
  /** The memory that machines may have together, suspended ones included. */
  readonly hostMemory_mb: number;
  /**
   * What machines reach besides the platform: nothing, or the public internet. A machine may ask for less, and not for more. `none` when
   * absent.
   */
  readonly network?: 'none' | 'egress' | undefined;
}
