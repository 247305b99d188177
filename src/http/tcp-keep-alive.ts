// The keep-alive of TCP connections that may be quiet for as long as their two ends like.

/** How long such a connection may be silent before the kernel probes it: a peer that is gone without a word is noticed soon after. */
export const TCP_KEEP_ALIVE_MS = 30_000;
