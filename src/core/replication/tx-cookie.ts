// The two cookies by which a client says what it has written: __txid as the node's own proxy sets it, 16 hex digits, and txnum
// as litefs-js does, a decimal number.
import { TXID_COOKIE, TXID_COOKIE_AGE_S, TXNUM_COOKIE } from '../../contract/replication.ts';

const MAX_TX_NUMBER = 0xffff_ffff_ffff_ffffn;

/**
 * The later one of the transactions in a Cookie header, as 16 hex digits; undefined when it names none. Clients can write
 * anything into cookies: a value that is no transaction counts as absent.
 */
export function parseTxCookies(header: string): string | undefined {
  let latest: string | undefined;
  for (const part of header.split(';')) {
    const at = part.indexOf('=');
    const txID = toTxId(part.slice(0, at).trim(), part.slice(at + 1).trim());
    if (txID !== undefined && (latest === undefined || txID > latest)) latest = txID;
  }
  return latest;
}

/** Set-Cookie lines for both, and the decimal form. `txID` is 16 hex digits. */
export function toTxCookies(txID: string): { readonly txnum: string; readonly set_cookie: string[] } {
  const txnum = BigInt(`0x${txID}`).toString();
  const attributes = `Path=/; Max-Age=${TXID_COOKIE_AGE_S}; HttpOnly; SameSite=Lax`;
  return {
    txnum,
    set_cookie: [`${TXID_COOKIE}=${txID}; ${attributes}`, `${TXNUM_COOKIE}=${txnum}; ${attributes}; Secure`],
  };
}

function toTxId(name: string, value: string): string | undefined {
  const text = /^"(.*)"$/.exec(value)?.[1] ?? value;
  if (name === TXID_COOKIE) return /^[0-9a-fA-F]{16}$/.test(text) ? text.toLowerCase() : undefined;
  if (name !== TXNUM_COOKIE || !/^\d{1,20}$/.test(text)) return undefined;
  const number = BigInt(text);
  return number <= MAX_TX_NUMBER ? number.toString(16).padStart(16, '0') : undefined;
}
