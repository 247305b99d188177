// The units of the package, by when they start. Pure.

/** Enabled and started when the package is installed. */
export const startedUnits = ['remora.socket', 'remora-supervisor.socket', 'remora.service'] as const;

/** Enabled by those who want them. */
export const offeredUnits = [
  'remora-readonly.socket',
  'remora-network.socket',
  'remora-network.path',
  'remora-reseed.path',
  'remora-platform.service',
] as const;

/** Started by others of them. */
export const innerUnits = ['remora-supervisor.service', 'remora-network.service', 'remora-reseed.service'] as const;
