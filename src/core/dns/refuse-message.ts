// Answers to what is no query that is served, and to every query where none is. Pure.
import { rcodes } from './dns-codes.ts';
import { type QueryReading, readQuery } from './read-query.ts';
import { type Note, writeHeader, writeReply } from './write-message.ts';

/** The answer to a message that was read as none that is served. */
export function writeRefusal({ query, rcode, id, flags }: Extract<QueryReading, { type: 'refused' }>): Uint8Array {
  return query === undefined ? writeHeader(id, flags, rcode) : writeReply(query, { rcode }).message;
}

/** REFUSED, with the reason, to every query. Undefined for what must not be answered. Never throws. */
export function refuseMessage(message: Uint8Array, note: Note): Uint8Array | undefined {
  const reading = readQuery(message);
  switch (reading.type) {
    case 'ignored':
      return undefined;
    case 'refused':
      return writeRefusal(reading);
    case 'query':
      return writeReply(reading.query, { rcode: rcodes.REFUSED, note }).message;
    default:
      return reading satisfies never;
  }
}
