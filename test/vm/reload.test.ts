// A reload of which systemd itself waits for the end, which takes version 253 or later: in a Debian that has one, with the lines of the
// page. It is not run at every commit because the files of that Debian are fetched.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bootOwnTree, type OwnContainer } from '../support/boot-container.ts';
import { copyDebianTree, isWithoutDebian } from '../support/debian-tree.ts';
import { bindProgram } from '../support/systemd-container.ts';

const top = new URL('../../', import.meta.url).pathname;
const page = readFileSync(join(top, 'systemd/README.md'), 'utf8');
const [lines = ''] = [...page.matchAll(/^```sh\n(.*?)^```$/gms)]
  .map(([, text = '']) => text)
  .filter((text) => text.includes('reload-253.conf'));

describe.skipIf(isWithoutDebian())('under a systemd that waits for a reload', () => {
  let box: OwnContainer;
  const show = async (property: string) => (await box.run(`systemctl show -P ${property} remora`)).trim();

  beforeAll(async () => {
    const tree = copyDebianTree('trixie');
    for (const name of ['remora.service', 'remora.socket', 'remora-supervisor.service', 'remora-supervisor.socket'])
      cpSync(join(top, 'systemd', name), join(tree, 'etc/systemd/system', name));
    const words = [...(await bindProgram()), '--private-network'];
    box = await bootOwnTree({ tree, words, env: { HOME: '/root', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } });
    await box.run(
      'groupadd --system --force remora && mkdir /etc/remora && systemctl enable --now remora.socket remora',
    );
    await box.run(`${lines.trim()} && systemctl restart remora`);
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
  });

  it('returns when the settings are used', async () => {
    expect([await show('Type'), await show('ActiveState')]).toEqual(['notify-reload', 'active']);
    const pid = await show('MainPID');
    writeFileSync(join(box.tree, 'etc/remora/agent.env'), 'REMORA_SHUTDOWN_TIMEOUT=3s\nREMORA_SPRITE=other\n');
    const told = (await box.run('systemctl reload remora && journalctl -u remora -o cat --no-pager')).split('\n');
    expect(told).toContainEqual(expect.stringMatching(/"changed":\["shutdown_timeout"\].*read again/));
    expect(told).toContainEqual(expect.stringMatching(/"settings":\["sprite"\].*restart/));
    writeFileSync(join(box.tree, 'etc/remora/agent.env'), 'REMORA_SHUTDOWN_TIMEOUT=never\n');
    await box.run('systemctl reload remora');
    expect(await show('StatusText')).toContain('settings: the settings were read again and cannot be used');
    expect([await show('MainPID'), await show('SubState'), await show('NRestarts')]).toEqual([pid, 'running', '0']);
  });
});
