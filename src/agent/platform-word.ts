// Tells an answer of the platform from one of what stands before it, such as a proxy while the platform is down.
import type { UpstreamError } from '../client/upstream-error.ts';

/**
 * Whether an answer may be believed that the platform lacks an operation (DECISIONS.md, "Answers that are not the platform’s"). `isProved`: the
 * platform has served the operation, or has marked an error of it.
 */
export function isPlatformsWord({ answeredBy }: UpstreamError, isProved: boolean): boolean {
  return answeredBy === 'remora' || (answeredBy === 'documented' && !isProved);
}
