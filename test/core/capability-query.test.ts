import { expect, it } from 'vitest';
import { readKeyParameter, withoutCapability } from '../../src/core/capability-query.ts';

it.each([
  ['/p?key=remora_cap_a', 'remora_cap_a', '/p'],
  ['/p?a=1&key=remora_cap_a&b=%2F', 'remora_cap_a', '/p?a=1&b=%2F'],
  ['/p?key=AIza&key=remora_cap_a', 'remora_cap_a', '/p?key=AIza'],
  ['/p?token=remora_cap_a&x', undefined, '/p?x'],
  ['/p?key=AIza&&x=', undefined, '/p?key=AIza&&x='],
  ['/p/key=remora_cap_a', undefined, '/p/key=remora_cap_a'],
  ['/p?', undefined, '/p?'],
])('%s', (target, token, forwarded) => {
  expect(readKeyParameter(target)).toBe(token);
  expect(withoutCapability(target)).toBe(forwarded);
});
