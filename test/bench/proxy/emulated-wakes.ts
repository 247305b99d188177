// The same for a machine of the driver `qemu`, whose processor is emulated in software: its memory is loaded again at each request.
import { mkdtempSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Secret } from '../../../src/core/secret.ts';
import { openPlatform } from '../../../src/platform/platform.ts';
import { loudly } from '../../support/loudly.ts';
import { silentLog } from '../../support/silent-log.ts';
import { findTestImage, isWithoutMachines } from '../../support/vm/vm-image.ts';
import type { Figure } from '../table.ts';
import { openSite } from './door.ts';
import { measureWakes } from './wakes.ts';

const WEB_PORT = 8_080;
const WEB = `require('node:http').createServer((_, answer) => answer.end('x'.repeat(1024))).listen(${WEB_PORT})`;
const BOOT_MS = 600_000;

/** Nothing is measured, loudly, where there is no emulator or no image of this tree. */
export async function measureEmulatedWakes(wakes: number): Promise<Figure[]> {
  if (isWithoutMachines()) return [];
  const image = await findTestImage('6.12');
  if (image === undefined) {
    loudly(true, 'no image of this tree is cached, so that no emulated machine is woken: `npm run bench:vm` makes one');
    return [];
  }
  const dir = mkdtempSync('/var/tmp/bench-wakes-');
  try {
    await using platform = await openPlatform({
      dir,
      keys: [new Secret('ab'.repeat(32))],
      listen: { host: '127.0.0.1', port: 0 },
      proxy: { listen: { host: '127.0.0.1', port: 0 } },
      qemu: { accel: 'tcg', hostMemory_mb: 1_024, imagesDir: dirname(image.dir), image: basename(image.dir) },
      endMachines: true,
      version: '0.0.0',
      log: silentLog,
    });
    const { admin, url } = platform;
    await admin.createOrganization('acme');
    await admin.createSprite({ organization: 'acme', name: 'bench' });
    const token = (await admin.createToken({ organization: 'acme' })).reveal();
    const service = { cmd: '/opt/remora/node_modules/.bin/node', args: ['-e', WEB], http_port: WEB_PORT };
    const site = await openSite({ origin: url, token, service, ready_ms: BOOT_MS });
    return await measureWakes(site, wakes, 'qemu, emulated');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
