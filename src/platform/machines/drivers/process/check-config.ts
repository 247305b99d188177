// What of a configuration a machine that is a process of the host can have. Pure.
import type { MachineConfig } from '../../../../contract/machine-config.ts';
import { RemoraError } from '../../../../core/remora-error.ts';

/** Names with which the environment of a program decides what code it runs or which files it trusts. */
const REFUSED_NAME =
  /^(?:PATH|HOME|USER|SHELL|ENV|BASH_ENV|IFS|TMPDIR|(?:LD|DYLD|NODE|NPM|RUBY|GIT|SSH|SSL|FLY|REMORA)_.*|(?:PYTHON|PERL5).*|.*_proxy)$/i;

const NEEDS_IMAGE = 'a machine of the driver process runs the agent on the host; leave it out, or use the driver qemu';

const SHARES_NETWORK =
  'a machine of the driver process has the network of the host; leave it out, or use the driver qemu';

/** Throws `unsupported_by_driver` with every field that asks for what this driver cannot do. */
export function checkProcessConfig(config: MachineConfig): void {
  const { image, rootfs, guest, init, network, env = {} } = config;
  const fields = [
    ...(image === undefined ? [] : [toProblem('image', NEEDS_IMAGE)]),
    ...(rootfs === undefined ? [] : [toProblem('rootfs', NEEDS_IMAGE)]),
    ...(guest?.kernel_args === undefined ? [] : [toProblem('guest.kernel_args', NEEDS_IMAGE)]),
    ...(network === undefined ? [] : [toProblem('network', SHARES_NETWORK)]),
    ...(init?.exec === undefined ? [] : [toProblem('init.exec', NEEDS_IMAGE)]),
    ...Object.keys(env)
      .filter((name) => REFUSED_NAME.test(name))
      .map((name) => toProblem(`env.${name}`, 'a program of the host would read it; take another name')),
  ];
  if (fields.length === 0) return;
  const message = fields.map((problem) => `${problem.field}: ${problem.message}`).join('; ');
  throw new RemoraError('unsupported_by_driver', message, { details: { fields } });
}

function toProblem(name: string, message: string) {
  return { field: `body.config.${name}`, message };
}
