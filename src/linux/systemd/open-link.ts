// Opens the link of a daemon to systemd, and loads what that takes only where systemd wants to be told.
import type { ServiceLink, ServiceLinkOptions } from './service-link.ts';

/** Undefined where nobody wants to be told. */
export async function openLink(
  env: NodeJS.ProcessEnv,
  options: Omit<ServiceLinkOptions, 'manager'>,
): Promise<ServiceLink | undefined> {
  if (!isService(env)) return undefined;
  const [{ openServiceManager }, { openServiceLink }] = await Promise.all([
    import('./service-manager.ts'),
    import('./service-link.ts'),
  ]);
  const manager = await openServiceManager(env, process.pid);
  return manager === undefined ? undefined : openServiceLink({ ...options, manager });
}

/** Whether systemd started this process as a service that tells it when it serves. */
export function isService(env: NodeJS.ProcessEnv): boolean {
  return env.NOTIFY_SOCKET !== undefined && env.NOTIFY_SOCKET !== '';
}
