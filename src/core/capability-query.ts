// Capability tokens in a query, where some SDKs write what they believe is an API key. Such a token is for the agent alone, so it
// is taken out before the target goes anywhere else. Pure; every other byte of the target stays.

export const CAPABILITY_PREFIX = 'remora_cap_';

/** The value of `key`, as it is written; undefined when it holds no capability token. */
export function readKeyParameter(target: string): string | undefined {
  return parametersOf(target)
    .find((parameter) => parameter.startsWith(`key=${CAPABILITY_PREFIX}`))
    ?.slice('key='.length);
}

/** The target without the parameters, whatever their names, that hold a capability token. */
export function withoutCapability(target: string): string {
  const question = target.indexOf('?');
  if (question < 0 || !target.includes(`=${CAPABILITY_PREFIX}`, question)) return target;
  const kept = parametersOf(target).filter((parameter) => !parameter.includes(`=${CAPABILITY_PREFIX}`));
  const path = target.slice(0, question);
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

function parametersOf(target: string): readonly string[] {
  const question = target.indexOf('?');
  return question < 0 ? [] : target.slice(question + 1).split('&');
}
