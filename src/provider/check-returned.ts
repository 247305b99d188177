// What a provider's function returned, against the contract: the platform would refuse what is not in its form.
import type { z } from 'zod';
import { toFieldProblem } from '../contract/field-problem.ts';

/** The platform reads no more of an answer. */
const ANSWER_CAP_BYTES = 64 * 1024;
/** A bill may be wrong in each of its lines. */
const PROBLEMS_SHOWN = 5;

/** Throws an error for the provider's log, with names of fields and no value. */
export function checkReturned<S extends z.ZodType>(
  name: string,
  schema: S,
  value: unknown,
  cap_bytes = ANSWER_CAP_BYTES,
) {
  const result = schema.safeParse(value, { error: toFieldProblem });
  if (!result.success) {
    const problems = result.error.issues
      .slice(0, PROBLEMS_SHOWN)
      .map((issue) => `${issue.path.join('.')} ${issue.message}`);
    throw new Error(`the function ${name} returned what the platform does not read: ${problems.join('; ')}`);
  }
  if (Buffer.byteLength(JSON.stringify(result.data)) > cap_bytes) {
    throw new Error(`the function ${name} returned more than ${cap_bytes} bytes`);
  }
  return result.data;
}
