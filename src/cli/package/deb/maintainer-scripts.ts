// What runs when the package is installed, upgraded, removed and purged. An upgrade leaves the sockets and the supervisor as they are, and the
// agent replaces itself when that cuts nobody off. The calls of deb-systemd-helper are those that Debian's own packages make: what an
// administrator has switched off stays off. Pure.
import { NODE_FLAGS } from '../../../core/node-flags.ts';
import { innerUnits, offeredUnits, startedUnits } from './unit-names.ts';

const TOP = '/opt/remora';
const REMORA = `${TOP}/bin/remora`;
const NODE = `${TOP}/node_modules/.bin/node`;
/** What systemd makes for the services. */
const CACHES = ['/var/cache/remora', '/var/cache/remora-network', '/var/cache/remora-platform'];
const STATES = ['/var/lib/remora', '/var/lib/remora-network', '/var/lib/remora-platform'];
/** What the command keeps beside the program. */
const OWN_CACHE = `${TOP}/node_modules/.cache`;
const POLICY = '/var/lib/remora-network/network.json';
const KEY = '/etc/credstore/remora-platform-key';

/** Has the process that enforces the policy of the network lift it. In the double quotes of a shell. */
const LIFT = [
  "const { request } = require('node:http');",
  'const body = JSON.stringify({ rules: [], exempt: { names: [], networks: [] } });',
  "const headers = { 'content-type': 'application/json' };",
  "const options = { socketPath: '/run/remora/network/network.sock', path: '/v1/network', method: 'PUT', headers, timeout: 10_000 };",
  'const fail = () => process.exit(1);',
  "request(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', fail).on('timeout', fail).end(body);",
].join(' ');

const listed = (units: readonly string[]) => units.join(' ');
const all = [...startedUnits, ...offeredUnits, ...innerUnits];
/** Sockets and paths first: what they start would come back. */
const inStopOrder = [
  ...all.filter((unit) => !unit.endsWith('.service')),
  ...all.filter((unit) => unit.endsWith('.service')),
];

/** The scripts by the names of their files. */
export const maintainerScripts: Readonly<Record<'postinst' | 'prerm' | 'postrm', string>> = {
  postinst: `#!/bin/sh
set -e
case $1 in
  configure | abort-upgrade | abort-deconfigure | abort-remove) ;;
  *) exit 0 ;;
esac

systemd-sysusers \${DPKG_ROOT:+--root="$DPKG_ROOT"} remora.conf
if [ -x "$(command -v systemd-tmpfiles)" ]; then
  systemd-tmpfiles \${DPKG_ROOT:+--root="$DPKG_ROOT"} --create remora.conf || true
fi

for unit in ${listed(startedUnits)}; do
  deb-systemd-helper unmask "$unit" > /dev/null || true
  if deb-systemd-helper --quiet was-enabled "$unit"; then
    deb-systemd-helper enable "$unit" > /dev/null || true
  else
    deb-systemd-helper update-state "$unit" > /dev/null || true
  fi
done
for unit in ${listed(offeredUnits)}; do
  if deb-systemd-helper debian-installed "$unit"; then
    deb-systemd-helper unmask "$unit" > /dev/null || true
    if deb-systemd-helper --quiet was-enabled "$unit"; then
      deb-systemd-helper enable "$unit" > /dev/null || true
    fi
  fi
  deb-systemd-helper update-state "$unit" > /dev/null || true
done

# With compiled code a start takes half the time.
install -d -m 0700 /var/cache/remora
NODE_COMPILE_CACHE=/var/cache/remora ${NODE} ${NODE_FLAGS.join(' ')} ${TOP}/dist/remora.cjs agent --check > /dev/null

[ -d /run/systemd/system ] || exit 0
systemctl --system daemon-reload > /dev/null || true
deb-systemd-invoke start ${listed(startedUnits)} > /dev/null || true
if [ -n "$2" ]; then
  if systemctl --quiet is-active remora.service; then
    env -i PATH="$PATH" ${REMORA} upgrade ||
      echo 'remora: the agent runs on as it is; \`remora upgrade\` replaces it later'
  fi
  deb-systemd-invoke try-restart remora-platform.service > /dev/null || true
fi
`,
  prerm: `#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
if [ -d /run/systemd/system ]; then
  deb-systemd-invoke stop ${listed(inStopOrder.filter((unit) => !unit.startsWith('remora-network')))} > /dev/null || true
  # Machines outlive the platform.
  systemctl kill --kill-who=all remora-platform.service 2> /dev/null || true
  # Without the program the rules in the kernel would stay, and no name would be resolved.
  if [ -e ${POLICY} ]; then
    ${NODE} -e "${LIFT}" || echo 'remora: the network policy holds on; \`nft delete table inet remora_network\` ends it' >&2
  fi
  deb-systemd-invoke stop ${listed(inStopOrder.filter((unit) => unit.startsWith('remora-network')))} > /dev/null || true
fi
rm -rf ${OWN_CACHE}
`,
  postrm: `#!/bin/sh
set -e
# dpkg removes a directory that has become empty; this one belongs to the system.
[ -d /opt ] || install -d /opt
case $1 in
  remove)
    rm -rf /run/remora ${CACHES.join(' ')}
    [ ! -d /run/systemd/system ] || systemctl --system daemon-reload > /dev/null || true
    ;;
  purge)
    for unit in ${listed(all)}; do
      [ ! -x /usr/bin/deb-systemd-helper ] || deb-systemd-helper purge "$unit" > /dev/null || true
    done
    rm -rf /etc/remora ${[...STATES, ...CACHES].join(' ')}
    rm -f /etc/credstore/remora-token /etc/credstore/remora-database-url
    if [ -e ${KEY} ]; then
      echo 'remora: ${KEY} is kept: without it no copy of the database can be read' >&2
    fi
    # Releases of systemd after 253 make this directory themselves.
    [ -e /usr/lib/tmpfiles.d/credstore.conf ] || rmdir /etc/credstore 2> /dev/null || true
    for user in remora-network remora-platform; do
      ! getent passwd "$user" > /dev/null || userdel "$user" || true
    done
    ! getent group remora > /dev/null || groupdel remora || true
    ;;
esac
`,
};
