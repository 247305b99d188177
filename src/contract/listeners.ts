// The listeners of the agent and of the platform, by the names with which operations say where they are served.

/**
 * `socket`: the main Unix socket. `readonly`: the second one, which only reads. `loopback`: TCP on this machine, with a capability
 * token. `channel`: calls that come over the agent's connection to its platform.
 */
export const listenerNames = ['socket', 'readonly', 'loopback', 'channel'] as const;
export type ListenerName = (typeof listenerNames)[number];

/** `tcp`: the address of the platform. `operator`: the Unix socket in its directory. `metrics`: the listener of its figures. */
export const platformListenerNames = ['tcp', 'operator', 'metrics'] as const;
export type PlatformListenerName = (typeof platformListenerNames)[number];
