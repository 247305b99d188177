// What the agent and the process that enforces the network policy have to agree on beside the operations: neither imports the other. Pure.

/** A file in the state directory of that process, there while something is restricted. */
export const NETWORK_STATE_FILE = 'network.json';

/** Its state directory below that of the agent that starts it. */
export const NETWORK_STATE_DIR = 'network';

/** The variable with which a machine boots whose sprite has rules: their digest. */
export const NETWORK_RULES_VARIABLE = 'REMORA_NETWORK_RULES';

/** Its state directory as a unit of systemd. */
export const NETWORK_UNIT_STATE_DIR = '/var/lib/remora-network';
