// The access policy of a connector: which sprites and which provider paths may use it (Sandbox API, AccessPolicy).
import * as z from './lazy-zod.ts';
import { policyRule } from './policy-rule.ts';

const fields = {
  allow_all: z.boolean().optional(),
  allowed_endpoints: z.array(z.string()).optional(),
  blocked_endpoints: z.array(z.string()).optional(),
  name_prefix: z.string().optional(),
  sprite_labels: z.array(z.string()).optional(),
};

/** All fields are optional. An empty policy, like a missing one, denies every sprite. */
export const accessPolicy = z.object(fields);
export type AccessPolicy = z.infer<typeof accessPolicy>;

const rules = z.array(policyRule).max(256).optional();

/** A policy as a caller sends it. Unknown fields are refused: a misspelt block rule must not open a path in silence. */
export const accessPolicyRequest = z.strictObject({
  ...fields,
  allowed_endpoints: rules,
  blocked_endpoints: rules,
  name_prefix: z.string().max(63).optional(),
  sprite_labels: z.array(z.string().min(1).max(128)).max(64).optional(),
});
export type AccessPolicyRequest = z.infer<typeof accessPolicyRequest>;
