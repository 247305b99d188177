// `npm run package`: makes the Debian package, or with --tree what it installs as /opt/remora.
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { isArchitecture, toOwnArchitecture } from './architecture.ts';
import { makeDeb } from './deb/make-deb.ts';
import { makeInstallTree } from './install-tree.ts';

const root = new URL('../../../', import.meta.url).pathname;

const { values } = parseArgs({
  options: { arch: { type: 'string' }, to: { type: 'string' }, tree: { type: 'string' } },
});
const architecture = values.arch ?? toOwnArchitecture();
if (!isArchitecture(architecture)) throw new Error('--arch is amd64 or arm64');
if (values.tree !== undefined) {
  await makeInstallTree({ root, to: values.tree, architecture });
} else {
  console.log(await makeDeb({ root, to: values.to ?? '.', architecture, time_s: readTime_s() }));
}

/** What SOURCE_DATE_EPOCH says, else the last commit. */
function readTime_s(): number {
  const given = process.env.SOURCE_DATE_EPOCH;
  const text = given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  const time_s = Number(text.trim());
  if (text.trim() === '' || !Number.isSafeInteger(time_s) || time_s < 0)
    throw new Error(`SOURCE_DATE_EPOCH: ${JSON.stringify(given)} is no number of seconds`);
  return time_s;
}
