// `remora logout`: deletes the file that `remora login` writes.
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { contextPath, removeContext } from '../target/context-file.ts';

export async function run({ env, out }: Invocation): Promise<number> {
  const path = contextPath(env);
  out.line(
    removeContext(env) ? `${path} is removed; the token stays good until it is revoked` : `nothing is kept in ${path}`,
  );
  return exitCode.ok;
}
