// Asks the servers in between, such as nginx, not to hold a stream back until they have enough of it. Pure.

const BUFFERING = 'x-accel-buffering';
const LENGTH = 'content-length';
const TYPE = 'content-type';
const EVENTS = /^\s*text\/event-stream/i;

/** Added to the head of an answer that is a stream. */
export const notToHold = { [BUFFERING]: 'no' } as const;

/**
 * Adds `x-accel-buffering: no` to the flat headers of an answer with a body when the body is events or has no length, unless they say
 * something of it. Nearly all names are told apart by their lengths.
 */
export function askNotToHold(headers: string[]): void {
  let hasLength = false;
  let isEvents = false;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name.length === LENGTH.length) hasLength ||= name.toLowerCase() === LENGTH;
    else if (name.length === BUFFERING.length) {
      if (name.toLowerCase() === BUFFERING) return;
    } else if (name.length === TYPE.length && name.toLowerCase() === TYPE)
      isEvents = EVENTS.test(headers[index + 1] ?? '');
  }
  if (isEvents || !hasLength) headers.push(BUFFERING, 'no');
}
