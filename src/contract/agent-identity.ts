// The headers by which an agent says which incarnation of its machine a call comes from.

/** Resumes counted on this machine, a decimal number that never goes back. */
export const generationHeader = 'remora-generation';

/** 16 random bytes as 32 hex digits, new after every resume: two machines of one snapshot differ in it. */
export const incarnationHeader = 'remora-incarnation';

/**
 * The nonce that the platform answered to the report of this incarnation: 32 random bytes as base64url. No copy of the machine
 * has it.
 */
export const nonceHeader = 'remora-nonce';
