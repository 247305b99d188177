// Compiled policies by their text: a policy is compiled once, not at every call.
import { type CompiledPolicy, compilePolicy } from '../../core/gateway/access-policy.ts';
import { parseStoredPolicy } from './stored-policy.ts';

const COUNT_MAX = 1_000;
/** Characters of the policies that are kept. A compiled policy takes about ten times the memory of its text. */
const TEXT_MAX = 2 * 1024 * 1024;

export function createCompiledPolicies(): (stored: string | null) => CompiledPolicy {
  const compiled = new Map<string | null, CompiledPolicy>();
  let held = 0;
  return (stored) => {
    const known = compiled.get(stored);
    if (known !== undefined) return known;
    held += stored?.length ?? 0;
    if (compiled.size >= COUNT_MAX || held > TEXT_MAX) {
      compiled.clear();
      held = stored?.length ?? 0;
    }
    const policy = compilePolicy(parseStoredPolicy(stored));
    compiled.set(stored, policy);
    return policy;
  };
}
