// The numbers of the domain name system that are used here (RFC 1035, RFC 6891, RFC 8914, RFC 9460).

export const rcodes = {
  NOERROR: 0,
  FORMERR: 1,
  SERVFAIL: 2,
  NXDOMAIN: 3,
  NOTIMP: 4,
  REFUSED: 5,
  BADVERS: 16,
} as const;

export const types = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MINFO: 14,
  MX: 15,
  RP: 17,
  AFSDB: 18,
  RT: 21,
  PX: 26,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  KX: 36,
  DNAME: 39,
  OPT: 41,
  RRSIG: 46,
  NSEC: 47,
  NSEC3: 50,
  SVCB: 64,
  HTTPS: 65,
} as const;

export const CLASS_IN = 1;

/** Why an answer is as it is (RFC 8914), for people. */
export const notes = { NOT_READY: 14, BLOCKED: 15, FILTERED: 17 } as const;

/** Bits of the second and third byte of a header, read as one number. */
export const flags = {
  ANSWER: 0x8000,
  OPCODE: 0x7800,
  TRUNCATED: 0x0200,
  RECURSION_DESIRED: 0x0100,
  RECURSION_AVAILABLE: 0x0080,
  AUTHENTIC: 0x0020,
  CHECKING_DISABLED: 0x0010,
} as const;

export const HEADER_BYTES = 12;
/** The flag of an OPT record: send signatures too. */
export const DNSSEC_OK = 0x8000;
