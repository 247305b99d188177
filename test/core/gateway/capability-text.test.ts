import { expect, it } from 'vitest';
import { readKeyParameter, toLoggedPath, withoutCapability } from '../../../src/core/gateway/capability-text.ts';

it.each([
  ['/p?key=remora_cap_a', 'remora_cap_a', '/p'],
  ['/p?a=1&key=remora_cap_a&b=%2F', 'remora_cap_a', '/p?a=1&b=%2F'],
  ['/p?key=AIza&key=remora_cap_a', 'remora_cap_a', '/p?key=AIza'],
  ['/p?token=remora_cap_a&x', undefined, '/p?x'],
  ['/p?key=AIza&&x=', undefined, '/p?key=AIza&&x='],
  ['/p/key=remora_cap_a', undefined, '/p/key=remora_cap_a'],
  ['/p?', undefined, '/p?'],
  ['/p?a=1&key=remora%5Fcap%5Fa&b', undefined, '/p?a=1&b'],
  ['/p?a=1&x%3Dremora%255fcap_a&b=%2F', undefined, '/p?a=1&b=%2F'],
  ['/p?remora_cap_a', undefined, '/p'],
  ['/p?a=REMORA_CAP_a', undefined, '/p'],
  ['/p?a=%72emora%zz', undefined, '/p?a=%72emora%zz'],
])('%s', (target, token, forwarded) => {
  expect(readKeyParameter(target)).toBe(token);
  expect(withoutCapability(target)).toBe(forwarded);
});

it.each([
  ['/v1/models', '/v1/models'],
  ['/v1/remora_cap_abc/x', '/[capability token]'],
  ['/v1/remora%5Fc%61p%5Fabc', '/[capability token]'],
])('%s is logged as %s', (path, logged) => expect(toLoggedPath(path)).toBe(logged));
