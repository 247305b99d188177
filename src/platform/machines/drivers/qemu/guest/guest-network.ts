// The addresses of the network between a machine and its host; every machine has a network of its own, with the same addresses.

export const GUEST_ADDRESS = '10.77.0.2';
/** The host, as the machine sees it. The platform answers there, on one port. */
export const HOST_ADDRESS = '10.77.0.1';
/** Where the emulator's user network leads what the machine sends to the address of the host. */
export const LOOPBACK = '127.0.0.1';
export const NETWORK = '10.77.0.0/24';
export const PREFIX_LENGTH = 24;
/** The port of the platform at `HOST_ADDRESS`. */
export const PLATFORM_PORT = 4180;
/** The port of the database node at `HOST_ADDRESS`, where the platform has one. */
export const NODE_PORT = 20202;
export const GUEST_MAC = '52:54:00:77:00:02';
