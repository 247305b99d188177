// The header of a mail: what is put before it, and what shows that it goes round. Everything else stays as it came, so that signatures
// of the sender hold. Pure.
import { MailRefusal } from './mail-refusal.ts';

export interface MailTrace {
  readonly domain: string;
  /** What the sending server calls itself. */
  readonly helo: string;
  readonly address: string;
  readonly id: string;
  readonly now_ms: number;
}

const LOOP_HEADER = 'X-Remora-Alias';
const HEADER_MAX_BYTES = 256 * 1024;
const LONGEST_END_BYTES = 4;
const RECEIVED_MAX = 50;

/** Throws a refusal for a mail that this platform, or too many servers, passed on already, and for a header without end. */
export function checkMailHeader(mail: Buffer, domain: string): void {
  const lines = readHeader(mail).split(/\r?\n/);
  const received = lines.filter((line) => /^received:/i.test(line)).length;
  const isOurs = lines.some((line) => {
    const [name = '', value = ''] = [line.slice(0, LOOP_HEADER.length), line.slice(LOOP_HEADER.length)];
    return name.toLowerCase() === LOOP_HEADER.toLowerCase() && value.replace(/^[ \t]*:/, '').trim() === domain;
  });
  if (isOurs || received > RECEIVED_MAX) throw new MailRefusal(554, '5.4.6', 'the mail goes round in a loop');
}

/** The lines that go before the mail. Text of the sending server is cut to what may stand in a header. */
export function toTraceLines({ domain, helo, address, id, now_ms }: MailTrace): string {
  const plain = (text: string) => text.replaceAll(/[^\w.:-]/g, '').slice(0, 255);
  const date = new Date(now_ms).toUTCString().replace('GMT', '+0000');
  return (
    `Received: from ${plain(helo) || 'unknown'} ([${plain(address)}])\r\n` +
    `\tby ${domain} with ESMTP id ${plain(id)}; ${date}\r\n` +
    `${LOOP_HEADER}: ${domain}\r\n`
  );
}

function readHeader(mail: Buffer): string {
  // A mail may have no end of a header at all.
  const begin = mail.subarray(0, HEADER_MAX_BYTES + LONGEST_END_BYTES);
  const ends = ['\r\n\r\n', '\n\n', '\r\n\n', '\n\r\n'].map((end) => begin.indexOf(end)).filter((at) => at >= 0);
  const length = ends.length === 0 ? mail.length : Math.min(...ends);
  if (length > HEADER_MAX_BYTES) throw new MailRefusal(552, '5.3.4', 'the header of the mail is too long');
  return mail.toString('latin1', 0, length);
}
