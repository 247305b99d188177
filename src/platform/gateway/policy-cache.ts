// Compiled policies by their text, so that a policy is compiled once for all the calls it judges.
import { type CompiledPolicy, compilePolicy } from '../../core/access-policy.ts';
import { parseStoredPolicy } from '../connectors/stored-policy.ts';

const CAP = 1_000;

export function createPolicyCache(): (stored: string | null) => CompiledPolicy {
  const compiled = new Map<string | null, CompiledPolicy>();
  return (stored) => {
    const known = compiled.get(stored);
    if (known !== undefined) return known;
    if (compiled.size >= CAP) compiled.clear();
    const policy = compilePolicy(parseStoredPolicy(stored));
    compiled.set(stored, policy);
    return policy;
  };
}
