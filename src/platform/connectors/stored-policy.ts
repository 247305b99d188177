// Reading the policy that is stored with a connector.

/** Undefined when there is none or the text cannot be read: `compilePolicy` makes both deny. */
export function parseStoredPolicy(stored: string | null): unknown {
  if (stored === null) return undefined;
  try {
    return JSON.parse(stored);
  } catch {
    return undefined;
  }
}
