// What a disk says of the agent in it, read out of its file system without mounting it.
import { z } from 'zod';
import { RemoraError } from '../../core/remora-error.ts';
import { runTool } from '../../linux/processes/run-tool.ts';
import { toPackages } from './debian-packages.ts';
import { sumText } from './sum-file.ts';

export interface FoundAgent {
  readonly agent_version: string;
  readonly packages_digest: string;
}

const PACKAGE = '/opt/remora/package.json';
const UNIT = '/etc/systemd/system/multi-user.target.wants/remora.service';
const packageFile = z.object({ name: z.literal('remora'), version: z.string().max(64) });

/** `raw`: a raw disk without partitions, with ext4. Throws `invalid_request` when there is no agent that starts with the machine. */
export async function readAgent(raw: string): Promise<FoundAgent> {
  const found = packageFile.safeParse(parse(await readInside(raw, `cat ${PACKAGE}`)));
  if (!found.success) throw without(`${PACKAGE} is not there, or the disk is no ext4 file system without partitions`);
  if (!(await readInside(raw, `stat ${UNIT}`)).includes('Inode:')) throw without(`${UNIT} is not there`);
  const packages = toPackages(await readInside(raw, 'cat /var/lib/dpkg/status'));
  return { agent_version: found.data.version, packages_digest: sumText(packages.join('\n')) };
}

/** Empty when there is no such file: debugfs ends well then too. */
async function readInside(raw: string, request: string): Promise<string> {
  const said = await runTool('debugfs', ['-R', request, raw]).catch((error) => {
    if (error instanceof RemoraError && error.code === 'not_configured') throw error;
    return '';
  });
  return said.toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function without(why: string): RemoraError {
  const message = `the disk has no agent that starts with the machine, so no start of a machine would ever be over: ${why}; see remora image build`;
  return new RemoraError('invalid_request', message);
}
