// Capability tokens at the places where some SDKs write an API key. Such a token is for the agent alone: it goes to no other
// server and into no log, however it is encoded. Every other byte of a target stays. Pure.
import { holdsEncoded } from './percent-decoding.ts';

export const CAPABILITY_PREFIX = 'remora_cap_';

const MAYBE = /%|remora_cap_/i;

/** Whether the text holds a capability token, as it is or percent-encoded. */
export function holdsCapability(text: string): boolean {
  return MAYBE.test(text) && holdsEncoded(text.toLowerCase(), CAPABILITY_PREFIX);
}

/** The value of `key`, as it is written; undefined when it holds no capability token. */
export function readKeyParameter(target: string): string | undefined {
  return parametersOf(target)
    .find((parameter) => parameter.startsWith(`key=${CAPABILITY_PREFIX}`))
    ?.slice('key='.length);
}

/** The target without the parameters of its query, whatever their names, that hold a capability token. */
export function withoutCapability(target: string): string {
  const question = target.indexOf('?');
  if (question < 0 || !holdsCapability(target.slice(question))) return target;
  const kept = parametersOf(target).filter((parameter) => !holdsCapability(parameter));
  const path = target.slice(0, question);
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

/** A path as it may be logged. */
export function toLoggedPath(path: string): string {
  return holdsCapability(path) ? '/[capability token]' : path;
}

function parametersOf(target: string): readonly string[] {
  const question = target.indexOf('?');
  return question < 0 ? [] : target.slice(question + 1).split('&');
}
