// The limits of a channel, the same at both ends. Either end may be hostile: what the other one may use up is bounded.

/**
 * A window of 256 KB lets one stream fill the connection and leaves small calls beside it quick: with 1 MB a download holds them up
 * for longer than 50 ms.
 */
export const STREAM_WINDOW_BYTES = 256 * 1024;
export const SESSION_WINDOW_BYTES = 16 * 1024 * 1024;
/**
 * node:http2 counts what a stream had still to send when it was reset, and does not take all of it off again: with a limit, some hundred callers
 * who go away in the middle of a body or of an answer would close the channel to every later stream. Streams and their windows bound the memory.
 */
export const NO_SESSION_MEMORY_LIMIT_MB = 1_000_000;
/** So much of one channel may wait for its readers; then nothing more is read from it. */
export const HELD_BYTES = 16 * 1024 * 1024;
/** So much of all channels of a platform; then nothing more is read from those that hold more than their share. */
export const HELD_BY_ALL_BYTES = 256 * 1024 * 1024;
export const MAX_STREAMS = 256;
export const HEADER_LIST_BYTES = 16 * 1024;
/** So many informational answers to one CONNECT. */
export const MAX_INFORMATIONAL = 16;
/** How long a connection to a port waits for the service of that port to listen. */
export const SERVICE_WAIT_MS = 60_000;
export const PING_INTERVAL_MS = 15_000;
/** So many pings without an answer, and the other end counts as gone. */
export const MISSED_PINGS = 2;
/** So many the platform sends to a channel that it does not read because too much waits. Their answers come all at once. */
export const MAX_UNANSWERED_PINGS = 32;
